import { Help, type Command } from "commander";
import type { ConfigKey } from "../config/config-schema.ts";
import { toFlag } from "../config/option-names.ts";
import type { Host } from "../process/host.ts";
import { isLively, toStyle } from "../terminal/style.ts";

/** Sets the output, the width and the style of all help. Called before commands are added, which inherit it. */
export function configureOutput(program: Command, host: Host): Command {
  const style = toStyle(host);
  const write = (text: string): void => void host.stdout.write(text);
  return program
    .configureOutput({
      outputError: () => undefined,
      writeOut: write,
      // Help for a command that lacks its subcommand
      writeErr: write,
      getOutHelpWidth: () => toWidth(host),
      getErrHelpWidth: () => toWidth(host),
      getOutHasColors: () => isLively(host),
      getErrHasColors: () => isLively(host),
    })
    .configureHelp({ styleTitle: (title) => style("bold", title) })
    .helpCommand(false)
    .helpOption("-h, --help", "show this help");
}

const USUAL_WIDTH = 80;
const MOST_WIDTH = 100;

function toWidth({ columns = USUAL_WIDTH }: Host): number {
  return Math.min(columns, MOST_WIDTH);
}

/** Makes the program's help fit on a screen, and the help of `serve` show all options. Called after commands were added. */
export function configureHelp(program: Command, serve: Command): void {
  const own = program.options.filter((option) => option.long === "--version");
  program.configureHelp({ ...program.configureHelp(), formatHelp: toShortHelp });
  serve.configureHelp({
    ...serve.configureHelp(),
    visibleOptions: (command) => [
      ...program.options.filter((option) => !option.hidden && !own.includes(option)),
      ...new Help().visibleOptions(command),
    ],
  });
}

// The options used most, in the few words that leave room for the commands
const SHOWN: Partial<Record<ConfigKey, string>> = {
  agentsDir: "where the agents' files are",
  config: "a JSON file with any of the options",
  allowRoot: "the only directory that calls may work in; repeatable",
  model: "for agents that name none",
  trustAllTools: "let agents use every tool they have, unasked",
  sandbox: "run every agent in a container of its own",
  egress: "how far a sandbox reaches: allowlist, open or none",
  allowHost: "one more host that a sandbox reaches",
  agentTimeout: "how long one attempt may take, such as 10m",
  keepSessions: "keep sessions on exit, to resume them by id",
};

const TERM_WIDTH = 26;

function toShortHelp(program: Command, helper: Help): string {
  const width = helper.helpWidth ?? USUAL_WIDTH;
  const toItem = (term: string, text: string): string => helper.formatItem(term, TERM_WIDTH, text, helper);
  const groups = new Map<string, string[]>();
  for (const command of helper.visibleCommands(program)) {
    const items = groups.get(command.helpGroup()) ?? [];
    groups.set(command.helpGroup(), [...items, toItem(toTerm(command), command.summary() || command.description())]);
  }
  const options = Object.entries(SHOWN).map(([key, text]) => toItem(findFlags(program, key), text));
  groups.set("The server's options used most:", options);
  return [
    `${helper.styleTitle("Usage:")} ${helper.commandUsage(program)}`,
    "",
    helper.boxWrap(program.description(), width),
    "",
    ...[...groups].flatMap(([title, items]) => [helper.styleTitle(title), ...items, ""]),
    helper.boxWrap(ENDING, width),
    "",
  ].join("\n");
}

const ENDING =
  '"budgie COMMAND --help" has the options of a command, and "budgie serve --help" all those of the server. Exit codes: ' +
  "0 done, 1 failed, 2 wrong usage, 3 no engine or image, 130 interrupted.";

function toTerm(command: Command): string {
  const operands = command.registeredArguments.map((argument) => {
    const name = argument.name().toUpperCase();
    return argument.required ? name : `[${name}]`;
  });
  return [command.name(), ...operands].join(" ");
}

function findFlags({ options }: Command, key: string): string {
  return options.find(({ long }) => long === toFlag(key))?.flags ?? "";
}
