import { readdirSync, readFileSync } from "node:fs";

/** The programs of a Pod itself: the sidecar, `hold` and its bridge, and the one that holds its namespaces. */
const OWN = /^(\S*\/hold|\/pause|\/bin\/sh -c until|\S*node\S* |sleep 0\.02)/;

/** Lists the agents' processes in a Pod, which this machine sees among its own. */
export function listPodProcesses(uid: string): readonly string[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid) || !read(`/proc/${pid}/cgroup`).includes(uid)) return [];
    const words = read(`/proc/${pid}/cmdline`).split("\0").join(" ");
    return words === "" || OWN.test(words) ? [] : [`${pid} ${words}`];
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // A process that has ended.
    return "";
  }
}
