import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import {
  hasMark,
  listChildren,
  listProcesses,
  listStreams,
  mapProcesses,
  type ProcessEntry,
  readProcess,
  readStreams,
} from "./process-table.ts";

/** All processes that came of one start, or of one session. */
export type ProcessFamily = {
  /** Waits until none lives, or the time is over; true when none lives */
  waitUntilGone(timeoutMs: number): Promise<boolean>;
  /** Asks them to end, waits, kills what is left, and resolves when none lives; `RUNNER_UNAVAILABLE` if the kernel keeps one. */
  end(graceMs: number): Promise<void>;
  /** Takes down now and then who belongs to it, as long as that can be seen; ends with the function that it gives back. */
  watch(): () => void;
};

type FamilyOptions = {
  /** `NAME=value` in the environment that all of them inherited */
  readonly mark: string;
  /** The first of them, which leads a process group of its own */
  readonly leader?: number;
};

// Whoever lives longer than this before it hides its origin is known. Each look costs a millisecond or a few.
const WATCH_MS = 250;

const POLL_MS = 25;
// A process in uninterruptible sleep dies when its system call returns, which nobody can hasten.
const KILL_TIMEOUT_MS = 5_000;

/**
 * Finds a family by its group, by descent, by the mark, which a daemon that left both still carries, by the streams that its
 * leader was given, and by having been seen. What escapes is a process that did away with all of these between two looks; and
 * where there is no `/proc`, all that left the group.
 */
export function createProcessFamily({ mark, leader }: FamilyOptions): ProcessFamily {
  const since = leader === undefined ? 0 : (readProcess(leader)?.started ?? 0);
  const known = new Set<string>();
  // At once, before it can give them up.
  const streams = leader === undefined ? new Set<string>() : readStreams(leader);
  const strangers = new Set<string>();
  // With when they started: those that live and that were seen to be of the family.
  const seen = new Map<number, number>(leader === undefined ? [] : [[leader, since]]);
  // The kernel may give the number of an empty group to a stranger, so an empty group is never signalled again.
  let group = leader;

  async function findMembers(): Promise<readonly ProcessEntry[]> {
    const listed = await listProcesses().catch(() => undefined);
    const candidates = (listed ?? []).filter(({ pid, started }) => mayBeMember(pid) && started >= since);
    const isInGroup = (entry: ProcessEntry) => entry.group === group;
    const hasGroup = listed === undefined ? isAlive(group) : candidates.some(isInGroup);
    if (!hasGroup) group = undefined;
    const marked = await mapProcesses(
      candidates,
      async (entry) =>
        isInGroup(entry) ||
        isKnown(entry) ||
        (await hasMark(entry.pid, mark).catch(() => false)) ||
        (await holds(entry)),
    );
    const members = withDescendants(
      candidates.filter((_, index) => marked[index]),
      candidates,
    );
    for (const member of members) known.add(toKey(member));
    return members;
  }

  function isKnown(entry: ProcessEntry): boolean {
    return known.has(toKey(entry)) || seen.get(entry.pid) === entry.started;
  }

  /** Whether it holds one of the leader's streams. Who was started without does not get them later. */
  async function holds(entry: ProcessEntry): Promise<boolean> {
    if (streams.size === 0 || strangers.has(toKey(entry))) return false;
    const held = await listStreams(entry.pid);
    if (held.some((stream) => streams.has(stream))) return true;
    strangers.add(toKey(entry));
    return false;
  }

  function look(): void {
    for (const [pid, started] of seen) {
      if (readProcess(pid)?.started !== started) seen.delete(pid);
      // What is added here is looked at in its turn.
      else for (const child of listChildren(pid)) seen.set(child.pid, child.started);
    }
  }

  async function waitUntilGone(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while ((await findMembers()).length > 0 || group !== undefined) {
      if (performance.now() >= deadline) return false;
      await sleep(POLL_MS);
    }
    return true;
  }

  async function signalAll(signal: NodeJS.Signals): Promise<void> {
    const members = await findMembers();
    // The group first and in one step: nobody in it can fork a way out.
    if (group !== undefined) sendSignal(-group, signal);
    for (const member of members) {
      const isSame = readProcess(member.pid)?.started === member.started;
      if (isSame && member.group !== group) sendSignal(member.pid, signal);
    }
  }

  return {
    waitUntilGone,
    watch() {
      const looking = setInterval(look, WATCH_MS).unref();
      return () => clearInterval(looking);
    },
    async end(graceMs) {
      if (await waitUntilGone(0)) return;
      await signalAll("SIGTERM");
      if (await waitUntilGone(graceMs)) return;
      const deadline = performance.now() + KILL_TIMEOUT_MS;
      do await signalAll("SIGKILL");
      while (!(await waitUntilGone(POLL_MS)) && performance.now() < deadline);
      const left = await findMembers();
      if (left.length > 0) throw undying(left);
    },
  };
}

function undying(left: readonly ProcessEntry[]): BudgieError {
  const pids = left.map(({ pid }) => pid).join(", ");
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `Processes of the agent were killed and still live (pid ${pids}): the system holds them, or they belong to another user. ` +
      `Look at them with "ps"; "budgie gc-volumes" ends what is left of a session whose budgie has ended.`,
  );
}

/** The only question that can be asked where no processes are listed. */
function isAlive(group: number | undefined): boolean {
  return group !== undefined && sendSignal(-group, 0);
}

function mayBeMember(pid: number): boolean {
  return pid > 1 && pid !== process.pid;
}

function toKey({ pid, started }: ProcessEntry): string {
  return `${pid}:${started}`;
}

function withDescendants(members: readonly ProcessEntry[], all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const pids = new Set(members.map(({ pid }) => pid));
  const children = all.filter(({ pid, parent }) => pids.has(parent) && !pids.has(pid));
  return children.length === 0 ? members : withDescendants([...members, ...children], all);
}

/** Tells whether there was anybody to signal; gone, or not ours to signal, is no error here. */
function sendSignal(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}
