import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";

/** A living process of this machine. */
export type ProcessEntry = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Clock ticks since boot; unique together with the pid */
  readonly started: number;
};

const AT_ONCE = 16;

/** Lists the living processes, without zombies; rejects if `/proc` does not exist or cannot be read. */
export async function listProcesses(): Promise<readonly ProcessEntry[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const entries = await mapProcesses(pids, async (pid) => parseEntry(await readProcessFile(pid, "stat")));
  return entries.filter((entry) => entry !== undefined);
}

/** Maps over many processes, a few at a time, since each may open a file and descriptors are limited. */
export async function mapProcesses<Item, Result>(
  items: readonly Item[],
  look: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let index = 0; index < items.length; index += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(index, index + AT_ONCE).map(look))));
  }
  return results;
}

/** Reads one process's entry synchronously, so that it cannot change meanwhile. */
export function readProcess(pid: number): ProcessEntry | undefined {
  try {
    return parseEntry(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Lists a process's children without reading all processes; empty if the kernel does not report them. */
export function listChildren(pid: number): readonly ProcessEntry[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean),
    );
    return children.map((child) => readProcess(Number(child))).filter((entry) => entry !== undefined);
  } catch {
    return [];
  }
}

// Unlike files, these have no name by which an unrelated process could open them.
const UNNAMED = /^(pipe|socket):\[/;

/** Reads the pipes and sockets of a process's standard streams, synchronously. */
export function readStreams(pid: number): ReadonlySet<string> {
  try {
    return new Set([0, 1, 2].map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)).filter((link) => UNNAMED.test(link)));
  } catch {
    return new Set();
  }
}

/** Lists the pipes and sockets that a process has open; empty if that cannot be read. */
export async function listStreams(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const links = await mapProcesses(names, (name) => readlink(`${folder}/${name}`).catch(() => ""));
  return links.filter((link) => UNNAMED.test(link));
}

/** Returns true if a process was started with the variable `mark` (`NAME=value`); `false` if that cannot be read. */
export async function hasMark(pid: number, mark: string): Promise<boolean> {
  return (await readProcessFile(pid, "environ")).split("\0").includes(mark);
}

// Ended meanwhile, or another user's
const UNREADABLE = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"]);

async function readProcessFile(pid: number, name: "stat" | "environ"): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    if (UNREADABLE.has((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}

/** Parses `stat` of proc(5). The name may contain spaces and parentheses, so the fields follow the last parenthesis. */
function parseEntry(stat: string): ProcessEntry | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  if (stat === "" || state === "Z" || state === "X") return undefined;
  return { pid: Number.parseInt(stat, 10), parent: Number(parent), group: Number(group), started: Number(fields[19]) };
}
