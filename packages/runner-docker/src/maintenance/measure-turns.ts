import type Docker from "dockerode";
import type { ContainerStats } from "dockerode";
import type { ResourceUse } from "@budgie/core";
import { OURS, parseLabels } from "../engine/to-labels.ts";
import { toContainerName } from "../sandbox/service-container.ts";
import { statusOf } from "../engine/to-budgie-error.ts";
import { timeLimit } from "../engine/with-timeout.ts";

/** Measures the containers of the running turns of these sessions, and the services beside them. */
export async function measureTurns(
  docker: Docker,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, ResourceUse>> {
  const filters = { ...OURS, status: ["running"] };
  const containers = await docker.listContainers({ filters, ...timeLimit() });
  const measured = containers.map(async ({ Id, Labels, Names }) => {
    const { role, session } = parseLabels(Labels);
    if (!sessions.includes(session) || (role !== "turn" && role !== "service")) return [];
    const name = Names?.[0]?.replace(`/${toContainerName(session, "")}`, "") ?? "";
    return [{ role, session, container: Id, name, use: await measure(docker.getContainer(Id)) }];
  });
  const all = (await Promise.all(measured)).flat();
  const turns = all.filter(({ role }) => role === "turn");
  return new Map(
    turns.map(({ container, session, use }) => [session, { container, ...use, ...pickServices(all, session) }]),
  );
}

type Measured = { readonly role: string; readonly session: string; readonly name: string; readonly use: Use };
type Use = Pick<ResourceUse, "cpuMs" | "memoryBytes">;

function pickServices(all: readonly Measured[], session: string): Pick<ResourceUse, "services"> {
  const services = all.filter((one) => one.role === "service" && one.session === session);
  return services.length === 0 ? {} : { services: services.map(({ name, use }) => ({ name, ...use })) };
}

/** Takes one sample; the engine's own percentage would need two, a second apart. */
async function measure(container: Docker.Container): Promise<Use> {
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
function readUse({ cpu_stats: cpu, memory_stats: memory }: ContainerStats): Use {
  const details = (memory.stats ?? {}) as Readonly<Record<string, number>>;
  const cached = details["total_inactive_file"] ?? details["inactive_file"] ?? 0;
  return {
    cpuMs: Math.round(cpu.cpu_usage.total_usage / 1e6),
    memoryBytes: memory.usage === undefined ? undefined : Math.max(memory.usage - cached, 0),
  };
}
