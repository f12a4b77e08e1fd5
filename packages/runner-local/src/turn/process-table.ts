import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";

/** One living process of this machine. */
export type ProcessEntry = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Clock ticks since boot; with the pid it names a process for good */
  readonly started: number;
};

const AT_ONCE = 16;

/** Lists the processes that live, without zombies; rejects where there is no `/proc`, or no way to look at it now. */
export async function listProcesses(): Promise<readonly ProcessEntry[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const entries = await mapProcesses(pids, async (pid) => toEntry(await readProcessFile(pid, "stat")));
  return entries.filter((entry) => entry !== undefined);
}

/** Looks at many processes, a few at a time: a file held open for each could be more than this process may have. */
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

/** Reads one process's entry now, without a pause in which it could change. */
export function readProcess(pid: number): ProcessEntry | undefined {
  try {
    return toEntry(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Lists the children that a process has now, without a look at all others; none where the kernel does not tell. */
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

// Files have names that anybody may open.
const NAMELESS = /^(pipe|socket):\[/;

/** Reads which pipes and sockets a process has as its standard streams, now and without a pause. */
export function readStreams(pid: number): ReadonlySet<string> {
  try {
    return new Set([0, 1, 2].map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)).filter((link) => NAMELESS.test(link)));
  } catch {
    return new Set();
  }
}

/** Lists the pipes and sockets that a process has open; none where that is not shown. */
export async function listStreams(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const links = await mapProcesses(names, (name) => readlink(`${folder}/${name}`).catch(() => ""));
  return links.filter((link) => NAMELESS.test(link));
}

/** Tells whether a process was started with the variable `mark` (`NAME=value`); false where that cannot be read. */
export async function hasMark(pid: number, mark: string): Promise<boolean> {
  return (await readProcessFile(pid, "environ")).split("\0").includes(mark);
}

// Gone meanwhile, or another user's
const NOT_SHOWN = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"]);

async function readProcessFile(pid: number, name: "stat" | "environ"): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    if (NOT_SHOWN.has((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}

/** Reads proc(5)'s `stat`: the name may hold spaces and parentheses, so the fields count from the last one. */
function toEntry(stat: string): ProcessEntry | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  if (stat === "" || state === "Z" || state === "X") return undefined;
  return { pid: Number.parseInt(stat, 10), parent: Number(parent), group: Number(group), started: Number(fields[19]) };
}
