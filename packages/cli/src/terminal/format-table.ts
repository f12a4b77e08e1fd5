import { createStyle } from "./style.ts";

type Format = Parameters<ReturnType<typeof createStyle>>[0];

type TableOutput = {
  readonly env: NodeJS.ProcessEnv;
  /** The terminal's width in characters; `undefined` if the output is none: then nothing is cut */
  readonly columns: number | undefined;
};

const LEAST_WIDTH = 60;
const MOST_WIDTH = 200;
const LEAST_CELL = 8;
const GAP = 2;

/**
 * Returns lines of columns, each as wide as its widest cell. On a terminal they fit its width, between 60 and 200 columns: the widest
 * columns are cut, and words of an outcome have a colour.
 */
export function formatTable(rows: readonly (readonly string[])[], output?: TableOutput): readonly string[] {
  const natural = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const widths = output?.columns === undefined ? natural : fit(natural, output.columns);
  const style = output === undefined ? undefined : createStyle(output);
  return rows.map((row, index) => {
    const cells = row.map((cell, column) => cut(cell, widths[column] ?? 0));
    const last = cells.findLastIndex((cell) => cell !== "");
    return cells
      .slice(0, last + 1)
      .map((cell, column) => {
        const gap = column === last ? "" : " ".repeat((widths[column] ?? 0) - cell.length + GAP);
        const format = index === 0 ? undefined : findFormat(row[column] ?? "");
        return `${style === undefined || format === undefined ? cell : style(format, cell)}${gap}`;
      })
      .join("")
      .trimEnd();
  });
}

/** Narrows the widest column until all fit, but none below 8 characters. */
function fit(natural: readonly number[], columns: number): readonly number[] {
  const room = Math.min(Math.max(columns, LEAST_WIDTH), MOST_WIDTH) - GAP * (natural.length - 1);
  const widths = [...natural];
  for (let excess = sum(widths) - room; excess > 0; excess -= 1) {
    const widest = Math.max(...widths);
    if (widest <= LEAST_CELL) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}

/** Returns the colour of a cell that has an outcome: good, under way, or bad. All codes of errors are bad. */
function findFormat(cell: string): Format | undefined {
  if (/^(?:answered|ready|running)$/.test(cell)) return "green";
  if (/^(?:answered, not delivered|cancelled|CANCELLED|starting|waiting.*|running \(try.*)$/.test(cell))
    return "yellow";
  return /^(?:BUG|lost|broken|dead|[A-Z]+(?:_[A-Z]+)+)$/.test(cell) ? "red" : undefined;
}
