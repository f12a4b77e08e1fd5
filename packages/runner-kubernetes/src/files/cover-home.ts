import type { Clock, Wire } from "../wire/index.ts";
import type { HomeCovers } from "./read-home-covers.ts";
import { sendEntries } from "./send-entries.ts";

/**
 * Puts a command's files in place in a Pod's home until its next turn has ended, also if it has none: those of a turn that did not begin may be
 * there. Rejects with `SESSION_UNUSABLE` if an agent replaced a folder on the way.
 */
export async function coverHome(wire: Wire, { entries, paths }: HomeCovers, clock?: Clock): Promise<void> {
  const list = Buffer.from(JSON.stringify(paths));
  async function* each() {
    yield* entries;
  }
  const request = { purpose: "file", act: "cover", listBytes: list.length } as const;
  await sendEntries({ wire, clock, request }, { list, entries: each() });
}
