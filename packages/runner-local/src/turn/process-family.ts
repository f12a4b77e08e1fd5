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
} from "./list-processes.ts";

/** The processes that descend from one start, or from one session. */
export type ProcessFamily = {
  /** Waits until none is alive or the timeout passes; `true` if none is alive */
  waitUntilGone(timeoutMs: number): Promise<boolean>;
  /** Sends SIGTERM, then SIGKILL after `graceMs`; resolves when none is alive. `RUNNER_UNAVAILABLE` if one survives. */
  end(graceMs: number): Promise<void>;
  /** Records its members periodically, until the returned function is called. */
  watch(): () => void;
};

type FamilyOptions = {
  /** `NAME=value` in the environment that its members inherit */
  readonly mark: string;
  /** The first process, which leads a process group of its own */
  readonly leader?: number;
};

// A process is known by then, unless it hides its origin sooner after its start. Each scan takes a few milliseconds.
const WATCH_MS = 250;

const POLL_MS = 25;
// A process in uninterruptible sleep dies only when its system call returns.
const KILL_TIMEOUT_MS = 5_000;

/**
 * Creates a family, whose members are found by process group, by descent, by the mark that daemons keep after leaving both, by
 * the leader's streams, and by earlier scans. A process escapes if it loses all of these between two scans. Without `/proc`, a
 * process escapes by leaving the group.
 */
export function createProcessFamily({ mark, leader }: FamilyOptions): ProcessFamily {
  const since = leader === undefined ? 0 : (readProcess(leader)?.started ?? 0);
  const known = new Set<string>();
  // Read at once, before the leader can close them.
  const streams = leader === undefined ? new Set<string>() : readStreams(leader);
  const withoutStreams = new Set<string>();
  // Start times of living processes that a scan found in the family, by pid.
  const seen = new Map<number, number>(leader === undefined ? [] : [[leader, since]]);
  // The kernel may reuse the id of an empty group, so an empty group is never signalled again.
  let group = leader;

  async function findMembers(): Promise<readonly ProcessEntry[]> {
    const listed = await listProcesses().catch(() => undefined);
    const candidates = (listed ?? []).filter(({ pid, started }) => mayBeMember(pid) && started >= since);
    const isInGroup = (entry: ProcessEntry) => entry.group === group;
    const hasGroup = listed === undefined ? isGroupAlive(group) : candidates.some(isInGroup);
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

  /** Returns true if a process has one of the leader's streams open. One that starts without them cannot open them later. */
  async function holds(entry: ProcessEntry): Promise<boolean> {
    if (streams.size === 0 || withoutStreams.has(toKey(entry))) return false;
    const held = await listStreams(entry.pid);
    if (held.some((stream) => streams.has(stream))) return true;
    withoutStreams.add(toKey(entry));
    return false;
  }

  function scan(): void {
    for (const [pid, started] of seen) {
      if (readProcess(pid)?.started !== started) seen.delete(pid);
      // The loop also visits the entries that are added here.
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
    // The group first: one call signals all its members, so that none escapes by forking.
    if (group !== undefined) sendSignal(-group, signal);
    for (const member of members) {
      const isSame = readProcess(member.pid)?.started === member.started;
      if (isSame && member.group !== group) sendSignal(member.pid, signal);
    }
  }

  return {
    waitUntilGone,
    watch() {
      const timer = setInterval(scan, WATCH_MS).unref();
      return () => clearInterval(timer);
    },
    async end(graceMs) {
      if (await waitUntilGone(0)) return;
      await signalAll("SIGTERM");
      if (await waitUntilGone(graceMs)) return;
      const deadline = performance.now() + KILL_TIMEOUT_MS;
      do await signalAll("SIGKILL");
      while (!(await waitUntilGone(POLL_MS)) && performance.now() < deadline);
      const left = await findMembers();
      if (left.length > 0) throw survivorsError(left);
    },
  };
}

function survivorsError(left: readonly ProcessEntry[]): BudgieError {
  const pids = left.map(({ pid }) => pid).join(", ");
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `Processes of the agent were killed and still live (pid ${pids}): the system holds them, or they belong to another user. ` +
      `Look at them with "ps"; "budgie gc" ends what is left of a session whose budgie has ended.`,
  );
}

/** Returns true if a process group exists, the only check on systems that list no processes. */
function isGroupAlive(group: number | undefined): boolean {
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

/** Sends a signal; `false` if the process does not exist or belongs to another user. */
function sendSignal(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}
