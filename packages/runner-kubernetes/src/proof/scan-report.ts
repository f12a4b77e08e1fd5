import { BudgieError } from "@budgie/core";

/** The ports at which a machine takes connections. */
export type ScanReport = { readonly open: readonly number[]; readonly hasMore: boolean };

const MOST_BYTES = 1024;
const MORE = "more";

/** Returns the report of `hold scan` over these ports. Throws `RUNNER_UNAVAILABLE` unless it says that all were tried. */
export function parseScanReport(text: string, [first, last]: readonly [first: number, last: number]): ScanReport {
  if (text.length > MOST_BYTES) throw unclear();
  const lines = text.split("\n").filter((line) => line !== "");
  const end = lines.pop();
  if (end !== `scanned ${first} ${last}` && end !== MORE) throw unclear();
  const open = lines.map((line) => Number(/^(\d{1,5}) open$/.exec(line)?.[1] ?? Number.NaN));
  if (!open.every((port) => port >= first && port <= last)) throw unclear();
  return { open, hasMore: end === MORE };
}

function unclear(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The scan of the node's ports from the Pod did not come to its end, so nothing is known of them. Try again.",
  );
}
