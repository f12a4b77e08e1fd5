import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Lists what a cluster has on this machine outside its namespaces, by the names that only clusters use. */
export function listTraces(name: string, address: string): readonly string[] {
  const state = `/tmp/budgie-cluster-${name}`;
  const groups = ["/sys/fs/cgroup", ...readdirSync("/sys/fs/cgroup").map((hierarchy) => `/sys/fs/cgroup/${hierarchy}`)];
  return [
    ...[state, ...groups.map((group) => `${group}/budgie-cluster-${name}`)].filter((path) => existsSync(path)),
    ...readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && readProc(`${pid}/cmdline`).includes(`${state}\0`)),
    ...readProc("mounts")
      .split("\n")
      .filter((mount) => mount.includes(state)),
    ...execFileSync("ip", ["-oneline", "address"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(`${toOtherEnd(address)}/`)),
    ...execFileSync("iptables-save", { encoding: "utf8" })
      .split("\n")
      .filter((rule) => /KUBE-|10\.244\.|budgie-node/.test(rule)),
  ];
}

/** Returns the address of the machine's end of a node's cable. */
function toOtherEnd(address: string): string {
  return address.replace(/\d+$/, (last) => String(Number(last) - 1));
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    // A process that has ended.
    return "";
  }
}
