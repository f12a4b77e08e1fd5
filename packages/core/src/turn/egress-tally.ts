import type { EgressCount, EgressDenial, EgressReport } from "../egress.ts";

/** Adds up what the processes of one turn reached and were refused. */
export type EgressTally = {
  readonly add: (report: Promise<EgressReport> | undefined) => void;
  /** `undefined` if nobody watched any of them */
  readonly total: () => Promise<EgressReport | undefined>;
};

/** Creates a tally without a report in it. */
export function createEgressTally(): EgressTally {
  const pending: Promise<EgressReport>[] = [];
  return {
    add: (report) => void (report !== undefined && pending.push(report)),
    async total() {
      const reports = await Promise.all(pending);
      if (reports.length === 0) return undefined;
      const key = ({ host, port }: EgressCount): string => `${host}:${port}`;
      return {
        allowed: addUp(
          reports.flatMap(({ allowed }) => allowed),
          key,
        ),
        denied: addUp(
          reports.flatMap(({ denied }) => denied),
          (denial: EgressDenial) => `${key(denial)} ${denial.why}`,
        ),
      };
    },
  };
}

function addUp<Count extends EgressCount>(counts: readonly Count[], toKey: (count: Count) => string): readonly Count[] {
  const sums = new Map<string, Count>();
  for (const count of counts) {
    const sum = sums.get(toKey(count));
    sums.set(toKey(count), sum === undefined ? count : { ...sum, count: sum.count + count.count });
  }
  return [...sums.values()];
}
