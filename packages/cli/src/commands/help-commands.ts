import type { Command } from "commander";
import { BudgieError } from "@budgie/core";
import { didYouMean } from "../terminal/did-you-mean.ts";

/** Adds `budgie help` and `budgie version`. */
export function addHelpCommands(program: Command, showVersion: () => void): void {
  program
    .command("help")
    .argument("[command...]", "a command, such as: runs ls")
    .description("show the help of a command")
    .action((words: readonly string[]) => words.reduce(requireSubcommand, program).outputHelp());
  program.command("version", { hidden: true }).description("print the version").action(showVersion);
}

function requireSubcommand(parent: Command, name: string): Command {
  const found = findSubcommand(parent, name);
  if (found === undefined) throw unknownCommand(parent, name);
  return found;
}

/** Finds a command below another, by its name or an alias. */
export function findSubcommand(parent: Command, name: string): Command | undefined {
  return parent.commands.find((command) => command.name() === name || command.aliases().includes(name));
}

/** Returns the names of the commands below another that its help shows. */
export function listSubcommands(parent: Command): readonly string[] {
  return parent
    .createHelp()
    .visibleCommands(parent)
    .map((command) => command.name());
}

/** Returns the error for a command that does not exist, with the most similar names. */
export function unknownCommand(parent: Command, name: string): BudgieError {
  const near = didYouMean(name, listSubcommands(parent));
  return new BudgieError("CONFIG_INVALID", `There is no command "${name}".${near} See "${pathOf(parent)} --help".`);
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
