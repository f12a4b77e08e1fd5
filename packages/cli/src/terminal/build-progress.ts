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
};

const MOST_LINES = 40;

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
    return { ...told, tell, clear: () => undefined };
  }
  const clear = (): void => void stdout.write("\r\u001B[2K");
  return {
    ...told,
    tell(text) {
      for (const line of keep(text)) {
        clear();
        stdout.write(/^(?:Step|Note:) /.test(line) ? `${line}\n` : line.slice(0, columns - 1));
      }
    },
    clear,
  };
}

function clean(line: string): string {
  return escapeForTerminal(removeTerminalSequences(line).replaceAll("\t", " "));
}
