import { parseBracket } from "./parse-bracket.ts";

/** A part of a pattern: one byte, any of a set of bytes, or a run of any length. */
export type WildToken =
  | { readonly kind: "byte"; readonly byte: number }
  | { readonly kind: "set"; readonly bytes: ReadonlySet<number> }
  /** `reach` is `folder` if a run ends at a slash; `skipsSlash` if the token and the slash after it may match nothing */
  | { readonly kind: "run"; readonly reach: "folder" | "all"; readonly skipsSlash: boolean }
  /** Matches nothing: git gives up on what is malformed */
  | { readonly kind: "never" };

export type WildOptions = {
  /** True if `*` and `?` end at a slash, and `**` does not: for patterns that have a slash themselves */
  readonly isPath: boolean;
};

/** Parses a pattern of git's `wildmatch`, whose characters are bytes. */
export function compileWildPattern(pattern: string, options: WildOptions): readonly WildToken[] {
  const tokens: WildToken[] = [];
  for (let at = 0; at < pattern.length;) {
    const { next, token } = readToken(pattern, at, options);
    tokens.push(token);
    if (token.kind === "never") break;
    at = next;
  }
  return tokens;
}

type Read = { readonly token: WildToken; readonly next: number };

const NEVER: WildToken = { kind: "never" };
const SLASH = 0x2f;

function readToken(pattern: string, at: number, options: WildOptions): Read {
  switch (pattern[at]) {
    case "\\":
      return at + 1 < pattern.length
        ? { token: { kind: "byte", byte: pattern.charCodeAt(at + 1) }, next: at + 2 }
        : { token: NEVER, next: at + 1 };
    case "?":
      return { token: { kind: "set", bytes: options.isPath ? ALL_BUT_SLASH : ALL }, next: at + 1 };
    case "*":
      return readRun(pattern, at, options);
    case "[":
      return readSet(pattern, at, options);
    case undefined:
    default:
      return { token: { kind: "byte", byte: pattern.charCodeAt(at) }, next: at + 1 };
  }
}

const ALL: ReadonlySet<number> = new Set(Array.from({ length: 256 }, (_, byte) => byte));
const ALL_BUT_SLASH: ReadonlySet<number> = new Set([...ALL].filter((byte) => byte !== SLASH));

function readRun(pattern: string, at: number, { isPath }: WildOptions): Read {
  let next = at;
  while (pattern[next] === "*") next++;
  if (!isPath) return { token: { kind: "run", reach: "all", skipsSlash: false }, next };
  const isWhole = (at === 0 || pattern[at - 1] === "/") && (next === pattern.length || startsWithSlash(pattern, next));
  const isDeep = next - at > 1 && isWhole;
  return {
    token: { kind: "run", reach: isDeep ? "all" : "folder", skipsSlash: isDeep && pattern[next] === "/" },
    next,
  };
}

function startsWithSlash(pattern: string, at: number): boolean {
  return pattern[at] === "/" || (pattern[at] === "\\" && pattern[at + 1] === "/");
}

function readSet(pattern: string, at: number, { isPath }: WildOptions): Read {
  const bracket = parseBracket(pattern, at + 1);
  if (bracket === undefined) return { token: NEVER, next: pattern.length };
  const bytes = new Set([...ALL].filter((byte) => bracket.bytes.has(byte) !== bracket.isNegated));
  if (isPath) bytes.delete(SLASH);
  return { token: { kind: "set", bytes }, next: bracket.next };
}
