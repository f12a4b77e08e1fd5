import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IMAGE } from "../lib/bench-place.mjs";
import { COMMAND, run, toInput } from "./docker-run.mjs";

/** Creates a turn by runc alone, on a copy of the image's files: every engine's floor. Resolves to `undefined` without root and runc. */
export async function createRuncTurn({ atEnd, directory, host }) {
  if (process.getuid?.() !== 0 || spawnSync("runc", ["--version"]).status !== 0) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "budgie-bench-"));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  await copyImage(join(folder, "rootfs"));
  await run("runc", ["spec", "--bundle", folder]);
  const spec = JSON.parse(await readFile(join(folder, "config.json"), "utf8"));
  const bind = (source, destination) => ({ type: "bind", source, destination, options: ["rbind"] });
  spec.process = { ...spec.process, terminal: false, args: COMMAND, cwd: "/workspace" };
  spec.process.env = [...spec.process.env, "KIRO_API_KEY=key", "HOME=/root"];
  spec.root.readonly = false;
  spec.mounts.push(bind(directory, "/workspace"), bind(host.agentsDir, "/root/.kiro/agents"));
  await writeFile(join(folder, "config.json"), JSON.stringify(spec));
  let count = 0;
  return () => run("runc", ["run", "--bundle", folder, `budgie-bench-${process.pid}-${count++}`], toInput("/root"));
}

async function copyImage(rootfs) {
  await mkdir(rootfs);
  const container = (await run("docker", ["create", IMAGE, "true"])).trim();
  try {
    await run("sh", ["-c", 'docker export "$1" | tar -x -C "$2"', "sh", container, rootfs]);
  } finally {
    await run("docker", ["rm", container]);
  }
}
