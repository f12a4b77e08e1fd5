/** The outcome of a fault. */
export type FaultResult = {
  readonly name: string;
  /** The missing requirement */
  readonly missing: string | undefined;
  /** The reason why the next call was not answered */
  trouble: string | undefined;
  leaked: readonly string[];
  lost: readonly string[];
};

/** Prints the table of faults. */
export function printFaults(results: readonly FaultResult[]): void {
  const rows = results.map(({ missing, leaked, lost, name, trouble }) =>
    missing === undefined
      ? [name, trouble === undefined ? "yes" : "NO", leaked.length, lost.length]
      : [name, `skipped: needs ${missing}`, "", ""],
  );
  const lines = [["fault", "survived", "leaked", "lost"], ["---", "---", "---", "---"], ...rows];
  const injected = results.filter((result) => result.missing === undefined);
  const whole = injected.filter(
    ({ leaked, lost, trouble }) => trouble === undefined && leaked.length + lost.length === 0,
  );
  const sum = `${injected.length} faults injected; ${whole.length} left budgie working, nothing behind and no answer lost.`;
  process.stdout.write(`\n${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n\n${sum}\n`);
}
