import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { findV3Obstacle } from "@budgie/protocols/kiro";
import type { LoadedAgents } from "@budgie/core/agents";
import type { Config } from "../../config/config.ts";
import type { Finding } from "./finding.ts";

/** Returns which agents' files need which harness or version of Kiro, and what an upgrade of Kiro's left beside them. */
export function inspectHarnesses(
  { files }: Pick<LoadedAgents, "files">,
  { agentsDir, kiroHarness }: Pick<Config, "agentsDir" | "kiroHarness">,
): readonly Finding[] {
  const agents = [...files].flatMap(
    ([
      file,
      {
        agent,
        content: { value },
      },
    ]): readonly KiroAgent[] =>
      agent === undefined || value === undefined ? [] : [{ file, name: agent.name, ...value }],
  );
  return [
    ...(kiroHarness === "v2" ? [...inspectMarkdown(agents), ...inspectUpgraded(agents)] : []),
    ...inspectV3(agents, kiroHarness),
    ...findOrphans(agentsDir).map((name) =>
      makeFinding(
        "note",
        `"${name}" has no "${name.slice(0, -BACKUP.length)}" beside it, as after an interrupted upgrade of Kiro's`,
      ),
    ),
  ];
}

type KiroAgent = { readonly file: string; readonly name: string } & Pick<ParsedFile, "definition" | "format">;
type ParsedFile = NonNullable<Loaded["content"]["value"]>;
type Loaded = LoadedAgents["files"] extends ReadonlyMap<string, infer L> ? L : never;

function inspectMarkdown(agents: readonly KiroAgent[]): readonly Finding[] {
  const names = agents.filter(({ format }) => format === "markdown").map(({ name }) => name);
  return names.length === 0 ? [] : [makeFinding("ok", `Markdown, which V2 gets as JSON: ${names.join(", ")}`)];
}

const BACKUP = ".bak";

/** Kiro's upgrade gives a JSON file `permissions`, and keeps the file from before. Older versions of V2 refuse a file with that key. */
function inspectUpgraded(agents: readonly KiroAgent[]): readonly Finding[] {
  const upgraded = agents.filter(({ definition, format }) => format === "json" && definition.permissions);
  if (upgraded.length === 0) return [];
  const names = upgraded.map(({ file, name }) => {
    return existsSync(file + BACKUP) ? `${name} (before: ${basename(file)}${BACKUP})` : name;
  });
  return [makeFinding("ok", `upgraded by a later Kiro, so V2 gets a copy without "permissions": ${names.join(", ")}`)];
}

function inspectV3(agents: readonly KiroAgent[], harness: Config["kiroHarness"]): readonly Finding[] {
  return agents.flatMap(({ definition, name }) => {
    const obstacle = findV3Obstacle(definition);
    if (obstacle === undefined) return [];
    const state = harness === "v3" ? "failed" : "note";
    return [makeFinding(state, `${name} needs V2: ${obstacle}`)];
  });
}

/** Finds copies of agents' files from before an upgrade, without the file itself. */
function findOrphans(agentsDir: string): readonly string[] {
  try {
    const names = readdirSync(agentsDir).filter((name) => name.endsWith(`.json${BACKUP}`));
    return names.filter((name) => !existsSync(join(agentsDir, name.slice(0, -BACKUP.length)))).toSorted();
  } catch {
    // Another finding reports a folder that cannot be read.
    return [];
  }
}

function makeFinding(state: Finding["state"], text: string): Finding {
  return { state, what: "agents", text };
}
