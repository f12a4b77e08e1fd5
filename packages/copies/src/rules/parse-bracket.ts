/** The bytes between brackets. */
type Bracket = {
  readonly bytes: ReadonlySet<number>;
  readonly isNegated: boolean;
  /** The index behind the closing bracket */
  readonly next: number;
};

/** Parses a set such as `[!a-z[:digit:]]` from behind its opening bracket, as git does; `undefined` if it is malformed. */
export function parseBracket(pattern: string, start: number): Bracket | undefined {
  const isNegated = pattern[start] === "!" || pattern[start] === "^";
  const bytes = new Set<number>();
  let at = isNegated ? start + 1 : start;
  // A range begins with the byte before it, unless that ended a range or a class itself.
  let previous: number | undefined;
  // The first character is never the closing bracket.
  do {
    const part = readPart(pattern, at, previous);
    if (part === undefined) return undefined;
    for (const byte of part.bytes) bytes.add(byte);
    previous = part.last;
    at = part.next;
  } while (pattern[at] !== "]");
  return { bytes, isNegated, next: at + 1 };
}

type Part = { readonly bytes: Iterable<number>; readonly last: number | undefined; readonly next: number };

function readPart(pattern: string, at: number, previous: number | undefined): Part | undefined {
  const character = pattern[at];
  if (character === undefined) return undefined;
  const after = pattern[at + 1];
  if (character === "-" && previous !== undefined && after !== undefined && after !== "]") {
    return readRange(pattern, at + 1, previous);
  }
  if (character === "[" && after === ":") return readClass(pattern, at);
  return readByte(pattern, at);
}

function readByte(pattern: string, at: number): Part | undefined {
  const index = pattern[at] === "\\" ? at + 1 : at;
  if (index >= pattern.length) return undefined;
  const byte = pattern.charCodeAt(index);
  return { bytes: [byte], last: byte, next: index + 1 };
}

function readRange(pattern: string, at: number, from: number): Part | undefined {
  const end = readByte(pattern, at);
  if (end?.last === undefined) return undefined;
  const bytes = Array.from({ length: Math.max(0, end.last - from + 1) }, (_, index) => from + index);
  return { bytes, last: undefined, next: end.next };
}

function readClass(pattern: string, at: number): Part | undefined {
  const end = pattern.indexOf("]", at + 2);
  if (end === -1) return undefined;
  // Without ":]" it is a set in which "[" is a character like any other.
  if (end === at + 2 || pattern[end - 1] !== ":") return { bytes: [0x5b], last: 0x5b, next: at + 1 };
  const isOfClass = CLASSES[pattern.slice(at + 2, end - 1)];
  if (isOfClass === undefined) return undefined;
  const bytes = Array.from({ length: 128 }, (_, byte) => byte).filter((byte) => isOfClass(String.fromCharCode(byte)));
  return { bytes, last: undefined, next: end + 1 };
}

const CLASSES: Readonly<Record<string, ((character: string) => boolean) | undefined>> = {
  alnum: (character) => /[0-9A-Za-z]/.test(character),
  alpha: (character) => /[A-Za-z]/.test(character),
  blank: (character) => character === " " || character === "\t",
  cntrl: (character) => character < " " || character === "\x7f",
  digit: (character) => /[0-9]/.test(character),
  graph: (character) => character > " " && character < "\x7f",
  lower: (character) => /[a-z]/.test(character),
  print: (character) => character >= " " && character < "\x7f",
  punct: (character) => character > " " && character < "\x7f" && !/[0-9A-Za-z]/.test(character),
  space: (character) => /[\t-\r ]/.test(character),
  upper: (character) => /[A-Z]/.test(character),
  xdigit: (character) => /[0-9A-Fa-f]/.test(character),
};
