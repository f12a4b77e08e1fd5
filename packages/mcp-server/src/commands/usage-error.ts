import type { Command, CommanderError } from "commander";
import { BudgieError } from "@budgie/core";

/** Makes a command and all below it throw `CONFIG_INVALID` for wrong usage, with a pointer to the nearest help. */
export function refuseWrongUsage(command: Command, parents: readonly string[] = []): void {
  const path = [...parents, command.name()];
  command.exitOverride((error) => {
    throw isPrinted(error) ? error : toUsageError(error, path);
  });
  for (const child of command.commands) refuseWrongUsage(child, path);
}

/** Tells whether commander threw only because it printed help or a version. */
export function isPrinted(error: unknown): boolean {
  return PRINTED.has((error as CommanderError | undefined)?.code ?? "");
}

// A command that has only commands below it prints its help, too.
const PRINTED: ReadonlySet<string> = new Set(["commander.help", "commander.helpDisplayed", "commander.version"]);

function toUsageError(error: CommanderError, path: readonly string[]): BudgieError {
  const [fault = "", hint] = error.message.replace(/^error: /, "").split("\n(");
  const near = hint === undefined ? "" : ` ${hint.slice(0, -1)}`;
  const message = `${toSentence(fault)}${near} See "${path.join(" ")} --help".`;
  return new BudgieError("CONFIG_INVALID", message, { cause: error });
}

function toSentence(text: string): string {
  const sentence = text.slice(0, 1).toUpperCase() + text.slice(1).replace(/\s+/g, " ");
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}
