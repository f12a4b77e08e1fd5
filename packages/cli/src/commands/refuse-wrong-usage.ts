import type { Command, CommanderError } from "commander";
import { BudgieError } from "@budgie/core";
import { didYouMean } from "../terminal/did-you-mean.ts";

/** Makes a command and all below it throw `CONFIG_INVALID` for wrong usage, with a pointer to the nearest help. */
export function refuseWrongUsage(command: Command, parents: readonly string[] = []): void {
  const path = [...parents, command.name()];
  command.exitOverride((error) => {
    if (isPrinted(error)) throw error;
    throw findMistyped(command, error) ?? usageError(error, path);
  });
  for (const child of command.commands) refuseWrongUsage(child, path);
}

/** Returns the error for a word that is no command, which commander gives to the command that a group runs by itself. */
function findMistyped(command: Command, { code }: CommanderError): BudgieError | undefined {
  const [word] = command.parent?.args ?? [];
  if (code !== "commander.excessArguments" || word === undefined || word === command.name()) return undefined;
  const group = command.parent;
  if (group?.parent === null || group?.parent === undefined) return undefined;
  const near = didYouMean(
    word,
    group.commands.map((each) => each.name()),
  ).replaceAll('"', "");
  const message = `Unknown command '${word}'.${near} See "${group.parent.name()} ${group.name()} --help".`;
  return new BudgieError("CONFIG_INVALID", message);
}

/** Tells whether commander threw only because it printed help or a version. */
export function isPrinted(error: unknown): boolean {
  return PRINTED.has((error as CommanderError | undefined)?.code ?? "");
}

// A command that has only commands below it prints its help, too.
const PRINTED: ReadonlySet<string> = new Set(["commander.help", "commander.helpDisplayed", "commander.version"]);

function usageError(error: CommanderError, path: readonly string[]): BudgieError {
  const [fault = "", hint] = error.message.replace(/^error: /, "").split("\n(");
  const near = hint === undefined ? "" : ` ${hint.slice(0, -1)}`;
  const message = `${formatSentence(fault)}${near} See "${path.join(" ")} --help".`;
  return new BudgieError("CONFIG_INVALID", message, { cause: error });
}

function formatSentence(text: string): string {
  const sentence = text.slice(0, 1).toUpperCase() + text.slice(1).replace(/\s+/g, " ");
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}
