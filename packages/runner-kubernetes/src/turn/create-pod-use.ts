import type { FoundEntry, WorkspaceCopy } from "@budgie/core/copies";
import type { ClusterContext } from "./cluster-context.ts";

/** The use of a session's Pod by anything but a turn, such as a fill, which may take longer than an idle Pod stays. */
export type PodUse = {
  /** Keeps the Pod while work waits for it or uses it. Rejects once the session has ended */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>;
  /** Returns a copy that keeps the Pod while it is filled or read */
  readonly ofCopy: (copy: Omit<WorkspaceCopy, "fillOver">) => WorkspaceCopy;
};

type Used = {
  readonly idle: Pick<ClusterContext["idle"], "acquire" | "release">;
  /** The Pod, as the table of idle ones knows it */
  readonly idler: { readonly stop: () => Promise<void> };
  /** Aborts when the session ends */
  readonly ended: AbortSignal;
};

/** Creates the use of a session's Pod. */
export function createPodUse({ ended, idle, idler }: Used): PodUse {
  async function during<T>(work: () => Promise<T>): Promise<T> {
    ended.throwIfAborted();
    idle.acquire(idler);
    try {
      return await work();
    } finally {
      idle.release(idler);
    }
  }

  async function* readInUse(read: () => AsyncIterable<FoundEntry>): AsyncGenerator<FoundEntry> {
    ended.throwIfAborted();
    idle.acquire(idler);
    try {
      yield* read();
    } finally {
      idle.release(idler);
    }
  }

  return {
    during,
    ofCopy: ({ fill, fillId, read }) => ({
      fillId,
      fill: (entries, given) => during(() => fill(entries, given)),
      read: (options) => readInUse(() => read(options)),
    }),
  };
}
