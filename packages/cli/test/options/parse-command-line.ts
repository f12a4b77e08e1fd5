import { Command } from "commander";
import { addCommands } from "../../src/commands.ts";
import { addServerOptions, SERVER_FLAGS } from "../../src/commands/server-options.ts";
import { doubleDashes } from "../../src/commands/double-dashes.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

/** Creates a program whose commands do nothing but parse, and throw for what they do not understand. */
export function createParser(ran: Command[] = []): Command {
  const program = new Command("budgie");
  addServerOptions(program);
  const refuse = (): never => {
    throw new Error("An example is only parsed.");
  };
  const context = { config: refuse, finish: refuse, createProgram: refuse, moved: () => [] };
  const serve = addCommands(program, { ...context, host: toSilentHost({ cwd: "/", home: "/" }) });
  for (const command of [program, ...listCommands(program).map((named) => named.command)]) {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    if (command.commands.length === 0) command.action(() => void ran.push(command));
  }
  serve.allowExcessArguments(false);
  return program;
}

type Named = { readonly command: Command; readonly path: string };

/** Lists the commands below one, except those for programs. */
export function listCommands(parent: Command, before: readonly string[] = []): readonly Named[] {
  return parent.commands
    .filter((command) => !command.name().startsWith("__"))
    .flatMap((command) => {
      const path = [...before, command.name()];
      return [{ command, path: path.join(" ") }, ...listCommands(command, path)];
    });
}

/** Parses a command line without the name of the program, and resolves to the commands that it would run. */
export async function parseCommandLine(line: string): Promise<readonly Command[]> {
  const ran: Command[] = [];
  await createParser(ran).parseAsync([...doubleDashes(toWords(line), SERVER_FLAGS)], { from: "user" });
  return ran;
}

/** Splits a line as a shell does, as far as the examples need it. */
function toWords(line: string): readonly string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}
