import { describe, it } from "vitest";
import { createKiroUser, type KiroUser, type Way } from "./kiro-user.ts";

export const V2: Way = { profile: "v2", transport: "cli", harness: "v2" };
export const V2_LATE: Way = { profile: "v2late", transport: "cli", harness: "v2" };
export const V2_LATE_ACP: Way = { profile: "v2late", transport: "acp", harness: "v2" };
export const V3: Way = { profile: "v3", transport: "acp", harness: "v3" };

/** One of the table's cells: a profile, what is expected in this row, and its test. */
export type Cell = readonly [way: Way, expected: string, test: (user: KiroUser) => Promise<void>];

/** Describes a row of the table of profiles: a test for each. */
export function describeRow(row: string, cells: readonly Cell[], fields: object = {}): void {
  describe(row, () => {
    for (const [way, expected, test] of cells) {
      it(`${way.profile} over ${way.transport}: ${expected}`, async () => test(createKiroUser(way, fields)));
    }
  });
}
