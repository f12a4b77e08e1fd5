import type { Config } from "./config.ts";
import type { Host } from "./host.ts";
import { loadTools } from "./load-tools.ts";
import type { Tool } from "./mcp/tools.ts";
import { toToolStats, toToolStatsText } from "./tool-stats.ts";

export type ListToolsOptions = {
  /** What each mode costs, in place of the tools */
  readonly stats: boolean;
  readonly json: boolean;
};

/** `budgie list-tools`: prints the tools as a client gets them, or what each way of offering them costs. */
export function listTools(config: Config, { json, stats }: ListToolsOptions, host: Host): number {
  const { loaded, tools } = loadTools(config, host);
  if (!stats) {
    host.stdout.write(`${json ? toJson(tools) : toText(tools)}\n`);
    return 0;
  }
  const report = toToolStats(loaded.agents, config);
  host.stdout.write(json ? `${JSON.stringify(report)}\n` : toToolStatsText(report));
  return 0;
}

function toJson(tools: readonly Tool[]): string {
  return JSON.stringify(
    tools.map(({ definition }) => definition),
    undefined,
    2,
  );
}

function toText(tools: readonly Tool[]): string {
  return tools.map(({ definition: { description = "", name } }) => `${name}\n${indent(description)}`).join("\n\n");
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
