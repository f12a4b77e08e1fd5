import type { JsonBounds } from "./json-bounds.ts";

/** Counts the values in the next piece of a JSON text. Throws a `RangeError` as soon as the pieces together exceed a bound. */
export type JsonScan = (piece: Uint8Array) => number;

/**
 * Creates a scan, which allocates nothing: an object of three bytes takes sixty once it is parsed, and a schema that refuses it takes
 * kilobytes. It may count a text that is not JSON wrongly, but only after the place at which a parser stops.
 */
export function createJsonScan({ depth: deepest, values: most }: JsonBounds): JsonScan {
  let values = 0;
  let depth = 0;
  let isInString = false;
  let isEscaped = false;

  function count(kind: number): void {
    isInString = kind === STRING;
    if (kind === CLOSING) depth = Math.max(0, depth - 1);
    else values += 1;
    if (kind === OPENING) depth += 1;
    if (values > most) throw new RangeError(`more than ${most} values`);
    if (depth > deepest) throw new RangeError(`more than ${deepest} levels`);
  }

  return (piece) => {
    const before = values;
    let at = isEscaped && isEscapable(piece[0]) ? 1 : 0;
    isEscaped &&= piece.length === 0;
    while (at < piece.length) {
      if (isInString) {
        const end = findStringEnd(piece, at);
        isInString = end >= piece.length;
        isEscaped = end > piece.length;
        at = end + 1;
      } else {
        const kind = KINDS[piece[at++] as number] as number;
        if (kind !== OTHER) count(kind);
      }
    }
    return values - before;
  };
}

/** Returns the index of the byte that ends a string; the length of the piece if none does, and one more if its last byte escapes the next. */
function findStringEnd(piece: Uint8Array, from: number): number {
  for (let at = from; at < piece.length; at += 1) {
    const byte = piece[at];
    // No string contains a line end, but the other fields of an event stream are lines of any text.
    if (byte === QUOTE || byte === LINE_FEED || byte === CARRIAGE_RETURN) return at;
    if (byte !== BACKSLASH) continue;
    if (at + 1 === piece.length) return piece.length + 1;
    if (isEscapable(piece[at + 1])) at += 1;
  }
  return piece.length;
}

function isEscapable(byte: number | undefined): boolean {
  return byte === QUOTE || byte === BACKSLASH;
}

const [LINE_FEED, CARRIAGE_RETURN, QUOTE, BACKSLASH] = [0x0a, 0x0d, 0x22, 0x5c];

const [OTHER, STRING, OPENING, CLOSING, COMMA] = [0, 1, 2, 3, 4];

/** The kind of each byte outside of strings */
const KINDS = new Uint8Array(256);
KINDS[QUOTE] = STRING;
for (const opening of Buffer.from("[{")) KINDS[opening] = OPENING;
for (const closing of Buffer.from("]}")) KINDS[closing] = CLOSING;
for (const comma of Buffer.from(",")) KINDS[comma] = COMMA;
