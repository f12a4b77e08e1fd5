import { readFile } from "node:fs/promises";
import { arch, cpus, loadavg, release, totalmem } from "node:os";
import { openEngine } from "../../lib/engine.mjs";

/** Returns the facts on which the figures depend. None names the machine or its user. */
export async function readMachine() {
  const { docker, name, version } = await openEngine();
  const info = await docker.info();
  const system = /^PRETTY_NAME="(.*)"$/m.exec(await readFile("/etc/os-release", "utf8").catch(() => ""))?.[1];
  return {
    date: new Date().toISOString().slice(0, 10),
    cores: cpus().length,
    processor: cpus()[0]?.model ?? arch(),
    memoryGb: Math.round(totalmem() / 1e9),
    system: system ?? process.platform,
    kernel: release().replace(/-.*/, ""),
    engine: `${name} ${version}`,
    storage: info.Driver,
    cgroups: `v${info.CgroupVersion ?? "?"}`,
    node: process.versions.node,
    loadBefore: Number(loadavg()[0].toFixed(1)),
  };
}
