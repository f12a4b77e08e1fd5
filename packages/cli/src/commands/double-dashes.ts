/** The long options of a command line, without dashes. */
export type KnownFlags = {
  /** Options that take a value */
  readonly valued: ReadonlySet<string>;
  /** Options without a value */
  readonly switches: ReadonlySet<string>;
};

const FLAG = /^--?([a-z][a-z-]+)(?:=(.*))?$/s;

/**
 * Rewrites long options in the spelling of Go's `flag` package, as the first budgie took them (`-verbose`,
 * `-agent-timeout=15m`, `-sandbox=false`), to the usual one. Unknown options stay unchanged.
 */
export function doubleDashes(argv: readonly string[], { switches, valued }: KnownFlags): readonly string[] {
  const rewritten: string[] = [];
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [, name = "", value] = FLAG.exec(argument) ?? [];
    if (argument === "--") return [...rewritten, argument, ...rest];
    if (switches.has(name)) rewritten.push(...rewriteSwitch(name, value));
    else if (!valued.has(name)) rewritten.push(argument);
    else if (value !== undefined) rewritten.push(`--${name}=${value}`);
    // The next argument is the value, even if it looks like an option.
    else rewritten.push(`--${name}`, ...rest.splice(0, 1));
  }
  return rewritten;
}

const TRUE = /^(?:1|t|true)$/i;
const FALSE = /^(?:0|f|false)$/i;

function rewriteSwitch(name: string, value: string | undefined): readonly string[] {
  if (value === undefined || TRUE.test(value)) return [`--${name}`];
  return [FALSE.test(value) ? `--no-${name}` : `--${name}=${value}`];
}

/** Returns whether a rewritten command line has nothing but options of the server, each with its value, and asks for no help. */
export function isComplete(argv: readonly string[], { switches, valued }: KnownFlags): boolean {
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const [, name = "", value] = FLAG.exec(argument) ?? [];
    if (valued.has(name)) {
      if (value === undefined && rest.shift() === undefined) return false;
    } else if (value !== undefined || ASKS.test(name) || !switches.has(name.replace(/^no-/, ""))) return false;
  }
  return true;
}

const ASKS = /^(?:no-)?(?:help|version)$/;
