import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

/** One living process of this machine. */
export type ProcessEntry = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Clock ticks since boot; with the pid it names a process for good */
  readonly started: number;
};

/** Tells whether this system shows its processes under `/proc` (Linux does, macOS does not). */
export function hasProcessTable(): boolean {
  try {
    return readdirSync("/proc/self").includes("environ");
  } catch {
    return false;
  }
}

/** Lists the processes that live, without zombies; empty where there is no `/proc`. */
export async function listProcesses(): Promise<readonly ProcessEntry[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const entries = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").then(toEntry, () => undefined)),
  );
  return entries.filter((entry) => entry !== undefined);
}

/** Reads one process's entry now, without a pause in which it could change. */
export function readProcess(pid: number): ProcessEntry | undefined {
  try {
    return toEntry(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Tells whether a process was started with the variable `mark` (`NAME=value`); false where that cannot be read. */
export async function hasMark(pid: number, mark: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return environment.split("\0").includes(mark);
}

/** Reads proc(5)'s `stat`: the name may hold spaces and parentheses, so the fields count from the last one. */
function toEntry(stat: string): ProcessEntry | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  if (state === "Z" || state === "X") return undefined;
  return { pid: Number.parseInt(stat, 10), parent: Number(parent), group: Number(group), started: Number(fields[19]) };
}
