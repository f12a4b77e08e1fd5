/** What came of a fault. */
export type FaultResult = {
  readonly name: string;
  /** What it could not be made without */
  readonly lacks: string | undefined;
  /** Why the next call was not answered */
  trouble: string | undefined;
  leaked: readonly string[];
  lost: readonly string[];
};

/** Prints the table of faults. */
export function printFaults(results: readonly FaultResult[]): void {
  const rows = results.map(({ lacks, leaked, lost, name, trouble }) =>
    lacks === undefined
      ? [name, trouble === undefined ? "yes" : "NO", leaked.length, lost.length]
      : [name, `not struck: takes ${lacks}`, "", ""],
  );
  const lines = [["fault", "survived", "leaked", "lost"], ["---", "---", "---", "---"], ...rows];
  const struck = results.filter((result) => result.lacks === undefined);
  const whole = struck.filter(
    ({ leaked, lost, trouble }) => trouble === undefined && leaked.length + lost.length === 0,
  );
  const sum = `${struck.length} faults struck; ${whole.length} left budgie at work, nothing behind and no answer lost.`;
  process.stdout.write(`\n${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n\n${sum}\n`);
}
