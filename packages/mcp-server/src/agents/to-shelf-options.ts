import type { AgentShelfOptions } from "./agent-catalog.ts";
import type { Config } from "../config/config.ts";
import type { Host } from "../process/host.ts";
import type { LoadedTools } from "./load-tools.ts";
import { checkToolNames } from "../mcp/names/check-tool-names.ts";
import { toNameWarnings } from "../mcp/tools/name-warnings.ts";
import { toTools } from "../mcp/tools/tools.ts";
import type { WatchedFolder } from "./folder-watch.ts";

/** What a shelf of these agents begins with, and is held to. */
export function toShelfOptions(
  first: LoadedTools,
  config: Config,
  { report }: Pick<Host, "report">,
): AgentShelfOptions {
  const { config: file = "", maxTurnsPerMinute, policies } = config;
  return {
    first,
    folders: config,
    report,
    check: (agents) => checkToolNames(agents, config),
    toTools: (agents) => toTools(agents, config),
    findProblems: toNameWarnings,
    settings: [
      ...[...policies.agents.keys()].map((agent) => [agent, `a section of "${file}"`] as const),
      ...[...maxTurnsPerMinute.agents.keys()].map((agent) => [agent, "a rate of --max-turns-per-minute"] as const),
    ],
  };
}

/** The folders whose files say what agents there are. */
export function toAgentFolders({ agentsDir, promptsDir }: Config): readonly WatchedFolder[] {
  return [
    { path: agentsDir, ending: ".json" },
    { path: promptsDir, ending: ".md" },
  ];
}
