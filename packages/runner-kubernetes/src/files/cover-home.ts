import type { FilledEntry } from "@budgie/core/copies";
import type { Wire } from "../wire/index.ts";
import type { HomeCovers } from "./read-home-covers.ts";
import { sendEntries } from "./send-entries.ts";
import type { PodTalk } from "./talk-to-pod.ts";

/**
 * Puts a command's files in place in a Pod until its next turn has ended, also if it has none: those of a turn that did not begin may be
 * there. Rejects with `SESSION_UNUSABLE` if an agent replaced a folder on the way.
 */
export async function coverHome(
  wire: Wire,
  { entries, paths, shown }: HomeCovers,
  limits: Pick<PodTalk, "clock" | "signal"> = {},
): Promise<void> {
  const list = Buffer.from(JSON.stringify(paths));
  const cover = { purpose: "file", act: "cover", listBytes: list.length } as const;
  await sendEntries({ ...limits, wire, request: cover }, { list, entries: each(entries) });
  if (shown.length === 0) return;
  const show = { purpose: "file", act: "write", volume: "shown" } as const;
  await sendEntries({ ...limits, wire, request: show }, { entries: each(shown) });
}

async function* each(entries: readonly FilledEntry[]): AsyncGenerator<FilledEntry> {
  yield* entries;
}
