import { readFileSync } from "node:fs";

/** Tells if a process runs. On Linux, a zombie does not count. */
export function isAlive(pid: number): boolean {
  try {
    if (process.platform !== "linux") return process.kill(pid, 0);
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
