import { setTimeout as sleep } from "node:timers/promises";
import type { ChangedList } from "../bounds/with-bounds.ts";

const WAIT_MS = 1000;

/** Returns a function to call for each changed list. It passes each on at most once a second. */
export function createListChanges(
  tell: (list: ChangedList) => void | Promise<void>,
  signal: AbortSignal,
): (changed: ChangedList) => void {
  const pending = new Set<ChangedList>();
  let isTelling = false;

  async function tellAll(): Promise<void> {
    isTelling = true;
    while (pending.size > 0 && !signal.aborted) {
      await sleep(WAIT_MS, undefined, { signal }).catch(() => undefined);
      const lists = [...pending];
      pending.clear();
      for (const list of lists) if (!signal.aborted) await tell(list);
    }
    isTelling = false;
  }

  return (changed) => {
    pending.add(changed);
    if (!isTelling) void tellAll();
  };
}
