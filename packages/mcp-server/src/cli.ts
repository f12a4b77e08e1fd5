import { Command } from "commander";
import { parseConfig, type Config } from "./config/config.ts";
import { isComplete, toDoubleDashed } from "./commands/go-flags.ts";
import { configureHelp, configureOutput } from "./commands/program-help.ts";
import type { Host } from "./process/host.ts";
import { isPrinted, refuseWrongUsage } from "./commands/usage-error.ts";
import { addServe, type CommandContext } from "./serve-command.ts";
import { addServerOptions, SERVER_FLAGS, toServerValues } from "./commands/server-options.ts";
import { loadVersion } from "./process/version.ts";

/** Runs the command of a command line. Resolves to the exit code. */
export async function runCli(argv: readonly string[], host: Host): Promise<number> {
  const rewritten = toDoubleDashed(argv, SERVER_FLAGS);
  let exitCode = 0;
  const finish = (code: number): void => void (exitCode = code);
  const createProgram = toProgram(host, finish, await loadCommands(rewritten));
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
  if (isComplete(argv, SERVER_FLAGS)) return addServe;
  const { addCommands } = await import("./all-commands.ts");
  return addCommands;
}

function toProgram(host: Host, finish: CommandContext["finish"], addCommands: AddCommands): () => Command {
  return function createProgram() {
    const program = configureOutput(new Command("budgie"), host)
      .usage("[COMMAND] [OPTIONS]")
      .description(
        "Offers your Kiro sub-agents as MCP tools, and runs each call in a sandbox or locally. Without a command it is the " +
          "server, as MCP clients start it.",
      )
      .version(loadVersion(), "-V, --version", "print the version");
    addServerOptions(program);
    const config = (): Config => parseConfig(toServerValues(program, host.env), host);
    const serve = addCommands(program, { host, finish, config, createProgram });
    configureHelp(program, serve);
    refuseWrongUsage(program);
    return program;
  };
}
