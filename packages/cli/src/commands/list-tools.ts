import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { findRefusedRemotes, type Host } from "@budgie/mcp-server";
import { withKagentAgents, loadTools, byName, buildLongCallTools, type Tool } from "@budgie/mcp-server/commands";
import { measureTools, formatToolStats } from "./tool-stats.ts";

export type ListToolsOptions = {
  /** Print the cost of each mode instead of the tools */
  readonly stats: boolean;
  readonly json: boolean;
};

/** Runs `budgie list-tools`: prints the tools as a client gets them, or the cost of each mode. */
export async function listTools(given: Config, { json, stats }: ListToolsOptions, host: Host): Promise<number> {
  const config = await withKagentAgents(given, host);
  for (const refusal of findRefusedRemotes(config)) host.report(refusal);
  const { accepted, tools } = loadTools(config, host);
  if (!stats) {
    const definitions = listDefinitions(tools, config);
    host.stdout.write(`${json ? JSON.stringify(definitions, undefined, 2) : definitionsText(definitions)}\n`);
    return 0;
  }
  const report = measureTools(accepted.agents, config);
  host.stdout.write(json ? `${JSON.stringify(report)}\n` : formatToolStats(report));
  return 0;
}

/** Adds `budgie list-tools`. */
export function addListTools(program: Command, run: (options: ListToolsOptions) => Promise<void>): void {
  program
    .command("list-tools")
    .summary("print the tools that clients see")
    .description("print the tools and what they do, or what each way of offering them costs")
    .option("--stats", "print how many bytes, and about how many tokens, each of --tools costs a client")
    .option("--json", "print JSON: everything a client is told")
    .action(({ json = false, stats = false }: Partial<ListToolsOptions>) => run({ json, stats }));
}

type Definition = Tool["definition"];

function listDefinitions(tools: readonly Tool[], config: Config): readonly Definition[] {
  // With "auto" they depend on the client.
  const forLongCalls = typeof config.softDeadline === "number" ? buildLongCallTools(config) : [];
  return [...tools, ...forLongCalls].map(({ definition }) => definition).toSorted(byName);
}

function definitionsText(definitions: readonly Definition[]): string {
  return definitions.map(({ description = "", name }) => `${name}\n${indent(description)}`).join("\n\n");
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
