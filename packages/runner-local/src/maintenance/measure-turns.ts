import { readFile } from "node:fs/promises";
import type { ResourceUse } from "@budgie/core";
import { hasMark, listProcesses, mapProcesses, type ProcessEntry } from "../turn/list-processes.ts";

/** Measures the processes of the running turns of these sessions; empty on a system without `/proc`. */
export async function measureTurns(sessions: readonly string[]): Promise<ReadonlyMap<string, ResourceUse>> {
  const processes = await listProcesses().catch(() => []);
  const measured = sessions.map(async (session) => {
    const marks = await mapProcesses(processes, async (entry) =>
      (await hasMark(entry.pid, `BUDGIE_SESSION=${session}`)) ? entry : undefined,
    );
    const family = marks.filter((entry) => entry !== undefined).toSorted((a, b) => a.started - b.started);
    const [first] = family;
    return first === undefined ? [] : [[session, { pid: first.pid, ...(await addUp(family)) }] as const];
  });
  return new Map((await Promise.all(measured)).flat());
}

async function addUp(family: readonly ProcessEntry[]): Promise<Pick<ResourceUse, "cpuMs" | "memoryBytes">> {
  const uses = await mapProcesses(family, readUse);
  return {
    cpuMs: uses.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    memoryBytes: uses.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
  };
}

// The clock tick of /proc on every Linux: 100 per second.
const TICK_MS = 10;

/** Reads the processor time and resident memory of a process; zeros once it has ended. */
async function readUse({ pid }: ProcessEntry): Promise<{ readonly cpuMs: number; readonly memoryBytes: number }> {
  const [stat, status] = await Promise.all(
    ["stat", "status"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8")),
  ).catch(() => ["", ""]);
  const fields = (stat ?? "").slice((stat ?? "").lastIndexOf(")") + 2).split(" ");
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  const residentKb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status ?? "")?.[1] ?? 0);
  return { cpuMs: TICK_MS * (user + system), memoryBytes: 1024 * residentKb };
}
