import { readFileSync, readlinkSync } from "node:fs";
import type { OwnerProcess } from "./owner-record.ts";

/** The state of a process: `unclear` if it cannot be distinguished from another process with the same pid. */
export type ProcessState = "running" | "ended" | "unclear";

/** Reads the identity of this process; `undefined` on a system without `/proc`. */
export function readOwnProcess(): OwnerProcess | undefined {
  try {
    const started = parseStart(readFileSync("/proc/self/stat", "utf8"));
    if (started === undefined) return undefined;
    return {
      pidNamespace: readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""),
      pid: process.pid,
      started,
      boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    };
  } catch {
    return undefined;
  }
}

/** Looks up a process of this pid namespace and boot. A zombie has ended: the kernel has closed its descriptors. */
export function findProcessState({ pid, started }: OwnerProcess): ProcessState {
  if (!isPidInUse(pid)) return "ended";
  try {
    // After `unshare --pid` without a new /proc, the pids in /proc are those of another namespace.
    if (readlinkSync("/proc/self") !== String(process.pid)) return "unclear";
    return parseStart(readFileSync(`/proc/${pid}/stat`, "utf8")) === started ? "running" : "ended";
  } catch {
    return isPidInUse(pid) ? "unclear" : "ended";
  }
}

/**
 * Parses the start time in proc(5)'s `stat`. The name may hold spaces and parentheses, so the fields are counted from the last parenthesis.
 */
function parseStart(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

/** Returns true if a process exists, even another user's, which `/proc` may hide. */
function isPidInUse(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
