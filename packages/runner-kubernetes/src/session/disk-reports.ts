import type { DiskReport } from "@budgie/core";
import type { Wire } from "../wire/index.ts";
import { askPod } from "./ask-pod.ts";

/** The disk use of a session's home. */
export type DiskReports = {
  /** Reports it, with the growth since the last report; `undefined` if the Pod does not say it. Never rejects */
  readonly take: (wire: Wire) => Promise<DiskReport | undefined>;
};

/** Creates the reports of a home, in which nothing is yet. */
export function createDiskReports(): DiskReports {
  let held = 0;
  return {
    async take(wire) {
      const answer = await askPod(wire, { purpose: "control", ask: "usage" }).catch(() => undefined);
      const homeBytes = answer?.["homeBytes"];
      if (!Number.isSafeInteger(homeBytes) || Number(homeBytes) < 0) return undefined;
      const grownBytes = Math.max(0, Number(homeBytes) - held);
      held = Number(homeBytes);
      return { homeBytes: held, grownBytes };
    },
  };
}
