import { setImmediate as letOthersWork, setTimeout as sleep } from "node:timers/promises";
import type { Base } from "../copying/base-files.ts";
import { openHostFolder, type HostFolder } from "../host/host-folder.ts";
import type { ChangeSets } from "../sets/change-sets.ts";
import { findDrift, type Drift, type FindingDrift } from "./find-drift.ts";

/** A comparison of a directory with a base that began before there was a set to review. */
export type EarlyDrift = {
  /** Yields items, and pauses the comparison from the first to the end, since both want this thread */
  readonly pauseDuring: <Item>(items: AsyncIterable<Item>) => AsyncGenerator<Item>;
  /** Resolves to the result; to `undefined` if the directory cannot be compared */
  readonly finish: () => Promise<RootDrift | undefined>;
  /** Ends the comparison, unless it has finished */
  readonly stop: () => void;
};

/** Drift with the device and inode of the directory that was compared. */
type RootDrift = Drift & { readonly root: string };

type Beginning = {
  readonly sets: Pick<ChangeSets, "advance">;
  readonly sessionId: string;
  readonly directory: string;
  readonly base: Pick<Base, "manifest" | "startedMs">;
};

// A copy that is listed sooner has few files, or none that changed.
const LISTING_MS = 30;

/**
 * Begins to compare a directory with a base, in the time in which other programs list an agent's copy. A turn that changed nothing needs no
 * result, so it should not wait for one either, nor have one made while others need the processor.
 */
export function beginDrift(beginning: Beginning): EarlyDrift {
  const stopped = new AbortController();
  let paused: Promise<void> | undefined;
  let go: () => void = () => undefined;
  let ask: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (ask = resolve));

  async function mayGoOn(): Promise<void> {
    await paused;
    await letOthersWork();
    stopped.signal.throwIfAborted();
  }

  const found = Promise.race([asked, sleep(LISTING_MS, undefined, { signal: stopped.signal })])
    .then(() => {
      stopped.signal.throwIfAborted();
      return compare(beginning, mayGoOn);
    })
    .catch(() => undefined);
  return {
    async *pauseDuring(items) {
      try {
        for await (const item of items) {
          paused ??= new Promise((resolve) => (go = resolve));
          yield item;
        }
      } finally {
        go();
      }
    },
    finish() {
      ask();
      return found;
    },
    stop() {
      stopped.abort();
      go();
    },
  };
}

/** Compares a directory with a base, and with what has been applied of it since. */
export async function compareNow(
  host: HostFolder,
  { base, sessionId, sets }: Omit<Beginning, "directory">,
  options?: FindingDrift,
): Promise<Drift> {
  const manifest = await sets.advance(sessionId, base.manifest, base.startedMs);
  return findDrift(host, { ...base, manifest }, options);
}

async function compare(
  { base, directory, sessionId, sets }: Beginning,
  pause: () => Promise<void>,
): Promise<RootDrift> {
  const host = await openHostFolder(directory);
  try {
    return { root: host.identity, ...(await compareNow(host, { base, sessionId, sets }, { pause })) };
  } finally {
    host.close();
  }
}
