import type { Command } from "commander";
import { BudgieError } from "@budgie/core";
import { didYouMean } from "../terminal/did-you-mean.ts";

/** Adds `budgie help` and `budgie version`, and `budgie mcp`, which explains the server. */
export function addHelp(program: Command, showVersion: () => void): void {
  program
    .command("help")
    .argument("[command...]", "a command, such as: runs ls")
    .description("show the help of a command")
    .action((words: readonly string[]) => words.reduce(findCommand, program).outputHelp());
  program.command("version").description("print the version").action(showVersion);
  program.command("mcp", { hidden: true }).action(() => findCommand(program, "serve").outputHelp());
}

/** Finds a command below another. Throws `CONFIG_INVALID` with the most similar names. */
function findCommand(parent: Command, name: string): Command {
  const found = parent.commands.find((command) => command.name() === name || command.aliases().includes(name));
  if (found !== undefined) return found;
  throw unknownCommand(parent, name);
}

/** Returns the error for a command that does not exist. */
export function unknownCommand(parent: Command, name: string): BudgieError {
  const near = didYouMean(
    name,
    parent
      .createHelp()
      .visibleCommands(parent)
      .map((command) => command.name()),
  );
  return new BudgieError("CONFIG_INVALID", `There is no command "${name}".${near} See "${toPath(parent)} --help".`);
}

function toPath(command: Command): string {
  return command.parent === null ? command.name() : `${toPath(command.parent)} ${command.name()}`;
}
