import { Help, type Command } from "commander";
import { OPTION_KEYS, optionFacts } from "../options/config-schema.ts";
import { toFlag } from "../options/format-option-name.ts";
import type { Host } from "@budgie/mcp-server";
import { isLively, createStyle } from "../terminal/style.ts";

/** Sets the output, the width and the style of all help. Called before commands are added, which inherit it. */
export function configureOutput(program: Command, host: Host): Command {
  const style = createStyle(host);
  const write = (text: string): void => void host.stdout.write(text);
  return program
    .configureOutput({
      outputError: () => undefined,
      writeOut: write,
      // Help for a command that lacks its subcommand
      writeErr: write,
      getOutHelpWidth: () => helpWidth(host),
      getErrHelpWidth: () => helpWidth(host),
      getOutHasColors: () => isLively(host),
      getErrHasColors: () => isLively(host),
    })
    .configureHelp({ styleTitle: (title) => style("bold", title) })
    .helpCommand(false)
    .helpOption("-h, --help", "show this help");
}

const USUAL_WIDTH = 80;
const MOST_WIDTH = 100;

function helpWidth({ columns = USUAL_WIDTH }: Host): number {
  return Math.min(columns, MOST_WIDTH);
}

/** Makes the program's help fit on a screen, and the help of `serve` show all options. Called after commands were added. */
export function configureHelp(program: Command, serve: Command, host: Host): void {
  const own = program.options.filter((option) => option.long === "--version");
  program.configureHelp({ ...program.configureHelp(), formatHelp: formatShortHelp });
  serve.configureHelp({
    ...serve.configureHelp(),
    visibleOptions: (command) => [
      ...program.options.filter((option) => !option.hidden && !own.includes(option)),
      ...new Help().visibleOptions(command),
    ],
  });
  serve.addHelpText("after", ({ command }) => {
    const helper = command.createHelp();
    return `\n${helper.boxWrap(OF_SERVE, helpWidth(host))}`;
  });
}

const OF_SERVE =
  "Each option is also a variable, as --agents-dir is BUDGIE_AGENTS_DIR, and a key of the configuration file, as agentsDir. " +
  'The file has more keys: "budgie config schema" lists them all.';

const TERM_WIDTH = 26;

function formatShortHelp(program: Command, helper: Help): string {
  const width = helper.helpWidth ?? USUAL_WIDTH;
  const formatItem = (term: string, text: string): string => helper.formatItem(term, TERM_WIDTH, text, helper);
  const groups = new Map<string, string[]>();
  for (const command of helper.visibleCommands(program)) {
    const items = groups.get(command.helpGroup()) ?? [];
    groups.set(command.helpGroup(), [
      ...items,
      formatItem(formatTerm(command), command.summary() || command.description()),
    ]);
  }
  const options = OPTION_KEYS.flatMap((key) => {
    const { brief } = optionFacts(key);
    return brief === undefined ? [] : [formatItem(findFlags(program, key), brief)];
  });
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
  'Options: "budgie COMMAND --help"; of the server: "budgie serve --help". Exit codes: ' +
  "0 done, 1 failed, 2 wrong usage, 3 no engine or image, 130 interrupted.";

function formatTerm(command: Command): string {
  const operands = command.registeredArguments.map((argument) => {
    const name = argument.name().toUpperCase();
    return argument.required ? name : `[${name}]`;
  });
  return [command.name(), ...operands].join(" ");
}

function findFlags({ options }: Command, key: string): string {
  return options.find(({ long }) => long === toFlag(key))?.flags ?? "";
}
