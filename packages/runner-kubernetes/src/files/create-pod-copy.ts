import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Readable } from "node:stream";
import { BudgieError, type Command, type SessionId } from "@budgie/core";
import type { FilledEntry, FoundEntry, WorkspaceCopy } from "@budgie/core/copies";
import { splitHidden } from "@budgie/core/policy";
import { findCopyCovers, type CopyCover } from "@budgie/sandbox/mounts";
import { fromRecords, toRecords } from "@budgie/sandbox/records";
import { askPod, isBusyAnswer } from "../session/ask-pod.ts";
import { namePod, type LivePod } from "../session/live-pod.ts";
import { fillVolume } from "./fill-volume.ts";
import { findKinds } from "./find-kinds.ts";
import { packVolume } from "./pack-volume.ts";

/** A session's copy of its workspace, which moves with it from Pod to Pod. */
export type PodCopy = Omit<WorkspaceCopy, "fillOver"> & {
  /** Asks a Pod which copy it has, of a session that moved there, or that another budgie left in it */
  readonly enter: (pod: LivePod) => Promise<void>;
  /** Notes that the copy is packed, and its Pod no longer counts */
  readonly leave: () => void;
  /**
   * Finds the covers of a start. Throws `SESSION_UNUSABLE` if the Pod lacks the copy, and `WORKSPACE_INVALID` if it cannot be covered. No
   * process of the session runs meanwhile
   */
  readonly findCovers: (
    pod: LivePod,
    command: Pick<Command, "hidden">,
    signal?: AbortSignal,
  ) => Promise<readonly CopyCover[]>;
};

/** The session of a copy, and the way to its Pod. */
export type PodCopyPlace = {
  readonly session: SessionId;
  /** Resolves to the session's Pod, whatever its shape; to a new one with all that was packed if there is none */
  readonly openPod: (signal?: AbortSignal) => Promise<LivePod>;
  /** The id of the fill that was packed, if it was */
  readonly fillId?: string | undefined;
};

type Signalled = { readonly signal?: AbortSignal | undefined };

// A process that was stopped may still be ending.
const BUSY_MS = 30_000;
const BUSY_PAUSE_MS = 100;

/** Creates the copy. It is in no Pod before its first fill, or before a Pod has been filled with what was packed. */
export function createPodCopy({ fillId, openPod, session }: PodCopyPlace): PodCopy {
  let filled: { readonly id: string; readonly pod: LivePod | undefined } | undefined =
    fillId === undefined ? undefined : { id: fillId, pod: undefined };

  function note(id: string, pod: LivePod): void {
    const mine = (filled = { id, pod });
    void pod.lost.then(() => {
      if (filled === mine) filled = undefined;
    });
  }

  async function fill(entries: AsyncIterable<FilledEntry>, { signal }: Signalled = {}): Promise<string> {
    const pod = await openPod(signal);
    filled = undefined;
    const records = Readable.from(toRecords(entries), { objectMode: false });
    const id = randomUUID();
    await fillVolume(pod.wire, { volume: "work", fillId: id, records, signal }).catch((error: unknown) => {
      throw namePod(pod, error);
    });
    note(id, pod);
    return id;
  }

  async function* read(): AsyncGenerator<FoundEntry> {
    if (filled === undefined) throw lostError(session);
    const pod = await openPod();
    if (filled?.pod !== pod) throw lostError(session);
    const until = performance.now() + BUSY_MS;
    for (let hasBegun = false; ;) {
      try {
        for await (const found of readOnce(pod)) {
          hasBegun = true;
          yield found;
        }
        return;
      } catch (error) {
        if (hasBegun || !isBusyAnswer(error) || performance.now() >= until) throw namePod(pod, error);
      }
      await sleep(BUSY_PAUSE_MS);
    }
  }

  return {
    fillId: async () => filled?.id,
    fill,
    read,
    async enter(pod) {
      const { fillId: found } = await askPod(pod.wire, { purpose: "control", ask: "fill" });
      filled = undefined;
      if (isId(found)) note(found, pod);
    },
    leave() {
      if (filled !== undefined) filled = { id: filled.id, pod: undefined };
    },
    async findCovers(pod, command, signal) {
      if (filled?.pod !== pod) throw lostError(session);
      return findCopyCovers((paths) => findKinds(pod.wire, paths, signal), splitHidden(command).ofWorkspace);
    },
  };
}

async function* readOnce({ wire }: LivePod): AsyncGenerator<FoundEntry> {
  const { pieces, stop } = packVolume(wire, "work");
  try {
    yield* fromRecords(pieces);
    // The Pod's word that nothing failed comes after the last record.
    if ((await pieces.next()).done !== true) throw tooLongError();
  } finally {
    stop();
  }
}

function isId(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f-]{36}$/.test(value);
}

function tooLongError(): BudgieError {
  return new BudgieError("SESSION_UNUSABLE", "The Pod sent more than the records of the copy. Begin a new session.");
}

function lostError(session: SessionId): BudgieError {
  return new BudgieError("SESSION_UNUSABLE", `The copy of session "${session}" is gone. Begin a new session.`);
}
