import { readFile } from "node:fs/promises";

/** Returns the resident megabytes of a process, now (`VmRSS`) and at most (`VmHWM`). */
export async function readStatus(pid) {
  return parseStatus(await readFile(`/proc/${pid}/status`, "utf8"));
}

/** Returns the resident megabytes of the process whose status the kernel wrote so. */
export function parseStatus(status) {
  const read = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)[1]) / 1024;
  return { VmRSS: read("VmRSS"), VmHWM: read("VmHWM") };
}

/** Returns the running containers of this place's budgies, with their roles and the megabytes that they use, caches left out. */
export async function readContainers({ engine: { docker }, host }) {
  const found = await docker.listContainers({ filters: { label: ["dev.budgie"] } });
  const own = found.filter(({ Labels }) => Labels["dev.budgie.lock"]?.startsWith(host.home));
  return Promise.all(
    own.map(async ({ Id, Labels }) => {
      const { memory_stats: memory } = await docker.getContainer(Id).stats({ stream: false });
      const { inactive_file: v2, total_inactive_file: cached = v2 } = memory.stats ?? {};
      const megabytes = Math.max(0, memory.usage - (cached ?? 0)) / 2 ** 20;
      return { id: Id, role: Labels["dev.budgie.role"], megabytes };
    }),
  );
}
