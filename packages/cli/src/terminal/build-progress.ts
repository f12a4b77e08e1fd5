import { escapeForTerminal, removeTerminalSequences } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";

/** The output of a build. */
export type BuildProgress = {
  readonly tell: (text: string) => void;
  readonly clear: () => void;
  /** Returns the step that it is at, such as `3/12`; `undefined` before the first */
  readonly step: () => string | undefined;
  /** Returns the last lines */
  readonly last: () => readonly string[];
  /** Prints the last lines of the step that it is at, which a terminal did not keep, without percentages */
  readonly showLast: () => void;
};

const MOST_LINES = 40;

const MOST_SHOWN = 10;

/** Creates the output of a build, without what a terminal would obey. A terminal keeps only steps and notes, and shows the steps' output in one changing line. */
export function createBuildProgress({ columns, stdout }: Host): BuildProgress {
  const lines: string[] = [];
  let current: string | undefined;
  const keep = (text: string): readonly string[] => {
    const plain = text
      .split(/[\r\n]+/)
      .map(clean)
      .filter((line) => line.trim() !== "");
    for (const line of plain) current = /^step (\d+\/\d+) ?:/i.exec(line)?.[1] ?? current;
    lines.push(...plain);
    lines.splice(0, lines.length - MOST_LINES);
    return plain;
  };
  const told = { last: () => lines, step: () => current };
  if (columns === undefined) {
    const tell = (text: string): void => keep(text).forEach((line) => void stdout.write(`${line}\n`));
    return { ...told, tell, clear: () => undefined, showLast: () => undefined };
  }
  const clear = (): void => void stdout.write("\r\u001B[2K");
  return {
    ...told,
    tell(text) {
      for (const line of keep(text)) {
        clear();
        // A step repeats its whole script.
        stdout.write(isKept(line) ? `${line.startsWith("Note:") ? line : cut(line, columns)}\n` : cut(line, columns));
      }
    },
    clear,
    showLast() {
      const ofStep = lines.slice(lines.findLastIndex(isKept) + 1).filter((line) => !/%\)?$/.test(line));
      for (const line of ofStep.slice(-MOST_SHOWN)) stdout.write(`  ${line}\n`);
    },
  };
}

function isKept(line: string): boolean {
  return /^(?:Step|Note:) /.test(line);
}

/** Cuts a line to the width of a terminal, where a full line would break. */
function cut(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, columns - 2)}…`;
}

function clean(line: string): string {
  return escapeForTerminal(removeTerminalSequences(line).replaceAll("\t", " "));
}
