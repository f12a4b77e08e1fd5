import type { Command } from "commander";
import { BudgieError, loadAgents } from "@budgie/core";
import { unknownCommand } from "./commands/help-commands.ts";
import { doubleDashes } from "./commands/double-dashes.ts";
import { findServerOption, SERVER_FLAGS, readServerValues } from "./commands/server-options.ts";
import { checkSandboxOptions, refuseUnknownAgents, resolveAllowedRoots, serve, type Host } from "@budgie/mcp-server";
import { loadUserConfig } from "./config/load-user-config.ts";
import type { Config } from "./config/config.ts";
import { listUnknownVariables } from "./config/list-unknown-variables.ts";
import { loadHttpOptions, refuseForStdio } from "./config/load-http-options.ts";

/** The parts that commands need. */
export type CommandContext = {
  readonly host: Host;
  readonly finish: (exitCode: number) => void;
  /** Checks the options of the command line and the environment. */
  readonly config: () => Config;
  /** Returns a line for each given option that moved to the configuration file. */
  readonly moved: () => readonly string[];
  /** Creates the program of another command line. */
  readonly createProgram: () => Command;
};

/** Adds `budgie serve`, the default command: MCP clients start budgie without its name. */
export function addServeCommand(program: Command, { config, finish, host, moved }: CommandContext): Command {
  return program
    .command("serve", { isDefault: true })
    .summary("serve the agents over MCP, as without a command")
    .description("Serves the agents to an MCP client, as budgie does without a command.")
    .allowExcessArguments()
    .action(async () => {
      // Without "serve", an operand is an unknown command.
      const [first, second] = program.args;
      if (first !== undefined && first !== "serve") throw unknownCommand(program, first);
      if (second !== undefined) throw unexpected(second);
      const checked = config();
      for (const line of listUnknownVariables(host.env)) host.report(line);
      finish(await (printTools(checked, host) ?? serveClient(checked, moved(), host)));
    });
}

/** Prints the tools if the options ask for that; otherwise returns `undefined`. */
function printTools(config: Config, host: Host): Promise<number> | undefined {
  if (!config.listTools && !config.debug) return undefined;
  return import("./commands/list-tools.ts").then(({ listTools }) =>
    listTools(config, { json: config.debug, stats: false }, host),
  );
}

function serveClient(config: Config, moved: readonly string[], host: Host): Promise<never> {
  if (host.stdinIsTerminal && config.transport === "stdio") for (const line of WAITING) host.report(line);
  checkOptions(config, host);
  const http = loadHttpOptions(config, host);
  for (const line of moved) host.report(line);
  return serve(config, host, http);
}

/** Checks the options that depend on no engine, agents or environment. Throws for one that a server would not start with. */
function checkOptions(config: Config, host: Host): void {
  if (config.transport === "stdio") refuseForStdio(config);
  checkSandboxOptions(config, host);
  resolveAllowedRoots(config);
}

// Lines for a person who started the server in a terminal
const WAITING: readonly string[] = [
  "This is the MCP server. It waits on stdin for an MCP client, which usually starts it; Ctrl-C ends it.",
  'To have a client start it: "budgie install CLIENT". To see what it offers: "budgie list-tools". For the rest: "budgie --help".',
];

/** Throws for a server option before "--", which would be ignored. */
export function refuseMisplaced(program: Command): void {
  const flag = findServerOption(program);
  if (flag === undefined) return;
  throw new BudgieError("CONFIG_INVALID", `Options of the server, such as ${flag}, go behind "--".`);
}

/**
 * Throws for options that a server would refuse at its start, where no user sees it. Returns its configuration; `undefined` for
 * options with `${…}`, which the client replaces.
 */
export function checkServerOptions(program: Command, args: readonly string[], host: Host): Config | undefined {
  if (args.some((argument) => argument.includes("${"))) return undefined;
  const { operands, unknown } = program.parseOptions([...doubleDashes(args, SERVER_FLAGS)]);
  const [odd] = [...operands, ...unknown];
  if (odd !== undefined) throw unexpected(odd);
  const config = loadUserConfig(readServerValues(program, {}), host);
  checkOptions(config, host);
  refuseUnknownAgents(config, loadAgents(config).agents);
  if (config.transport === "stdio") return config;
  throw new BudgieError(
    "CONFIG_INVALID",
    "A client starts its own budgie and speaks to it over stdio, not --transport http.",
  );
}

function unexpected(argument: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", `The server takes no "${argument}". See "budgie serve --help".`);
}
