import type Docker from "dockerode";
import type { ContainerStats } from "dockerode";
import type { ResourceUse } from "@budgie/core";
import { parseLabels } from "../engine/to-labels.ts";
import { statusOf } from "../engine/to-budgie-error.ts";
import { timeLimit } from "../engine/with-timeout.ts";

/** Measures the containers of the running turns of these sessions. */
export async function measureTurns(
  docker: Docker,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, ResourceUse>> {
  const filters = { label: ["dev.budgie=1", "dev.budgie.role=turn"], status: ["running"] };
  const containers = await docker.listContainers({ filters, ...timeLimit() });
  const measured = containers.map(async ({ Id, Labels }) => {
    const { session } = parseLabels(Labels);
    if (!sessions.includes(session)) return [];
    return [[session, { container: Id, ...(await measure(docker.getContainer(Id))) }] as const];
  });
  return new Map((await Promise.all(measured)).flat());
}

/** Takes one sample; the engine's own percentage would need two, a second apart. */
async function measure(container: Docker.Container): Promise<Pick<ResourceUse, "cpuMs" | "memoryBytes">> {
  try {
    const stats = await container.stats({ stream: false, "one-shot": true, ...timeLimit() });
    return readUse(stats);
  } catch (error) {
    // It has just ended.
    if (statusOf(error) === undefined) throw error;
    return { cpuMs: undefined, memoryBytes: undefined };
  }
}

/** Converts a sample as the engine's own command does: cached files that the kernel can drop at once do not count. */
function readUse({ cpu_stats: cpu, memory_stats: memory }: ContainerStats): Pick<ResourceUse, "cpuMs" | "memoryBytes"> {
  const details = (memory.stats ?? {}) as Readonly<Record<string, number>>;
  const cached = details["total_inactive_file"] ?? details["inactive_file"] ?? 0;
  return {
    cpuMs: Math.round(cpu.cpu_usage.total_usage / 1e6),
    memoryBytes: memory.usage === undefined ? undefined : Math.max(memory.usage - cached, 0),
  };
}
