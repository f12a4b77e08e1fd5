import type { Writable } from "node:stream";
import { escapeForTerminal } from "@budgie/core/text";

/** The last line of a terminal, which changes. */
export type LiveLine = {
  /** Replaces the line; a text that is too long is truncated */
  readonly show: (text: string) => void;
  /** Removes the line, so that something else can be written */
  readonly clear: () => void;
};

/** Creates the line of a terminal of this width; it writes nothing if there is no terminal. */
export function createLiveLine(output: Pick<Writable, "write">, columns: number | undefined): LiveLine {
  let isShown = false;

  return {
    show(text) {
      if (columns === undefined) return;
      output.write(`${CLEAR}${truncate(escapeForTerminal(text), columns - 1)}`);
      isShown = true;
    },
    clear() {
      if (isShown) output.write(CLEAR);
      isShown = false;
    },
  };
}

// Returns the cursor, and erases to the end of the line.
const CLEAR = "\r\u001B[K";

/** Truncates to the width of a terminal, in which many characters beyond Latin, Greek and Cyrillic take two columns. */
function truncate(text: string, columns: number): string {
  let width = 0;
  let shown = "";
  for (const character of text) {
    width += (character.codePointAt(0) ?? 0) < FIRST_WIDE ? 1 : 2;
    if (width > columns - 1) return `${shown}…`;
    shown += character;
  }
  return shown;
}

const FIRST_WIDE = 0x1100;
