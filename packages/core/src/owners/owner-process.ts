import { readFileSync, readlinkSync } from "node:fs";
import type { OwnerProcess } from "./owner-record.ts";

/** What became of a process: `unclear` where it cannot be told from another with its number. */
export type ProcessFate = "there" | "gone" | "unclear";

/** Names this process; `undefined` where there is no `/proc` to tell how. */
export function toOwnProcess(): OwnerProcess | undefined {
  try {
    const started = toStart(readFileSync("/proc/self/stat", "utf8"));
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

/** Looks for a process of this pid namespace and boot. A zombie is gone: the kernel has closed all that it had open. */
export function toProcessFate({ pid, started }: OwnerProcess): ProcessFate {
  if (!isNumberTaken(pid)) return "gone";
  try {
    // Below `unshare --pid` without a /proc of its own, the numbers there are those of another namespace.
    if (readlinkSync("/proc/self") !== String(process.pid)) return "unclear";
    return toStart(readFileSync(`/proc/${pid}/stat`, "utf8")) === started ? "there" : "gone";
  } catch {
    return isNumberTaken(pid) ? "unclear" : "gone";
  }
}

/** Reads proc(5)'s `stat`: the name may hold spaces and parentheses, so the fields count from the last one. */
function toStart(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

/** Unlike a look at `/proc`, this sees also what other users run. */
function isNumberTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
