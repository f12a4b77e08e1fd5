import { listProcessesIn } from "./list-processes-in.ts";

/** The programs of a Pod itself: the sidecar, `hold` and its bridge, and the one that holds its namespaces. */
const OWN = /^(\S*\/hold|\/pause|\/bin\/sh -c until|\S*node\S* |sleep 0\.02)/;

/** Lists the agents' processes in a Pod, which this machine sees among its own. */
export function listPodProcesses(uid: string): readonly string[] {
  return listProcessesIn(uid).flatMap(({ argv, pid }) => (OWN.test(argv) ? [] : [`${pid} ${argv}`]));
}
