import { removeTerminalSequences } from "@budgie/core/text";

/** The flags with which a command of `kiro-cli` is told its harness, by its help. */
export type HarnessFlags = {
  /** True if help lists `--v2` */
  readonly hasV2: boolean;
  /** The known values of `--agent-engine`, in order; empty if help names none, `undefined` if it does not list the flag */
  readonly engines: readonly KiroEngine[] | undefined;
};

/** A value of `--agent-engine`. */
type KiroEngine = (typeof ENGINES)[number];

export const ENGINES = ["v1", "v2", "v3"] as const;
// A hundred times the help of a known version
const LONGEST_CHARACTERS = 256 * 1024;

/** Reads the help of a command of `kiro-cli`, such as `kiro-cli chat --help`, short or long. */
export function parseKiroHelp(help: string): HarnessFlags {
  const options = parseOptions(removeTerminalSequences(help.slice(0, LONGEST_CHARACTERS)).replaceAll("\r", ""));
  const engine = options.find(({ names }) => names.includes("--agent-engine"));
  return {
    hasV2: options.some(({ names }) => names.includes("--v2")),
    engines: engine && parseValues(engine.text),
  };
}

type HelpOption = {
  /** Such as `-a` and `--trust-all-tools` */
  readonly names: readonly string[];
  /** All lines about it */
  readonly text: string;
};

// Such as "  -a, --trust-all-tools" and "      --agent-engine <ENGINE>". The item of a list, such as "- v2: ...", has a space.
const OPTION = /^ {1,12}((?:-\w, )?--?[\w-]+)/;

function parseOptions(help: string): readonly HelpOption[] {
  const options: { names: readonly string[]; text: string }[] = [];
  for (const line of help.split("\n")) {
    const names = OPTION.exec(line)?.[1]?.split(", ");
    const last = options.at(-1);
    if (names !== undefined) options.push({ names, text: line });
    else if (last !== undefined) last.text += `\n${line}`;
  }
  return options;
}

/** Returns the values in clap's short form, `[possible values: v1, v2]`, or in its long one, which has an item for each. */
function parseValues(text: string): readonly KiroEngine[] {
  const [, listed = ""] = /possible values:\s*([^\]]*)/i.exec(text) ?? [];
  const items = listed.includes("\n") ? [...listed.matchAll(/^ *- (\w+)/gm)].map(([, item]) => item) : [];
  const named = items.length > 0 ? items : listed.split(/[\s,]+/);
  return ENGINES.filter((engine) => named.includes(engine));
}
