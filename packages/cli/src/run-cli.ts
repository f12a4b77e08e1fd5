import { Command } from "commander";
import { loadUserConfig } from "./config/load-user-config.ts";
import type { Config } from "./config/config.ts";
import { isComplete, doubleDashes } from "./commands/double-dashes.ts";
import { configureHelp, configureOutput } from "./commands/configure-help.ts";
import { loadVersion, type Host } from "@budgie/mcp-server";
import { isPrinted, refuseWrongUsage } from "./commands/refuse-wrong-usage.ts";
import { addServeCommand, type CommandContext } from "./serve-command.ts";
import { addServerOptions, listMoved, SERVER_FLAGS, readServerValues } from "./commands/server-options.ts";

/** Runs the command of a command line. Resolves to the exit code. */
export async function runCli(argv: readonly string[], host: Host): Promise<number> {
  const rewritten = doubleDashes(argv, SERVER_FLAGS);
  let exitCode = 0;
  const finish = (code: number): void => void (exitCode = code);
  const createProgram = createProgramFactory(host, finish, await loadCommands(rewritten));
  try {
    await createProgram().parseAsync(rewritten, { from: "user" });
  } catch (error) {
    if (!isPrinted(error)) throw error;
  }
  return exitCode;
}

/** Adds commands to the program, and returns the server's. */
type AddCommands = (program: Command, context: CommandContext) => Command;

/** Imports all commands, unless the arguments are only server options: then a client starts the server, and waits. */
async function loadCommands(argv: readonly string[]): Promise<AddCommands> {
  if (isComplete(argv, SERVER_FLAGS)) return addServeCommand;
  const { addCommands } = await import("./commands.ts");
  return addCommands;
}

function createProgramFactory(host: Host, finish: CommandContext["finish"], addCommands: AddCommands): () => Command {
  return function createProgram() {
    const program = configureOutput(new Command("budgie"), host)
      .usage("[COMMAND] [OPTIONS]")
      .description("Offers your Kiro sub-agents as MCP tools. Without a command it is the server.")
      .version(loadVersion(), "-V, --version", "print the version");
    addServerOptions(program);
    const config = (): Config => loadUserConfig(readServerValues(program, host.env), host);
    const moved = (): readonly string[] => listMoved(program, host.env);
    const serve = addCommands(program, { host, finish, config, moved, createProgram });
    configureHelp(program, serve, host);
    // After the command: a refusal stays alone on stderr. The server, which does not end, says it once its options are accepted.
    program.hook("postAction", () => moved().forEach((line) => host.report(line)));
    refuseWrongUsage(program);
    return program;
  };
}
