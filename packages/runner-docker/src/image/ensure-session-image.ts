import { chmodSync, copyFileSync, renameSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BudgieError } from "@budgie/core";
import { SANDBOX, type SandboxUser } from "@budgie/sandbox/profile";
import type { Engine } from "../engine/engine.ts";
import { FORWARDER } from "../sandbox/container-options.ts";
import { ensureOneFileImage, type OneFileImage } from "./one-file-image.ts";

/**
 * Returns the id of the image that session containers run, which is created if the engine lacks it. It does not depend on the sandbox
 * image. Volumes that are mounted into its containers get its folders, which belong to the sandbox's user.
 */
export async function ensureSessionImage(engine: Engine, user: SandboxUser): Promise<string> {
  const { platform } = engine;
  const key = `${platform} ${user.uid}:${user.gid}`;
  const image = images.get(key) ?? (await describeImage(platform, user));
  images.set(key, image);
  return ensureOneFileImage(engine, image);
}

const images = new Map<string, OneFileImage>();

async function describeImage(platform: string, user: SandboxUser): Promise<OneFileImage> {
  const architecture = findArchitecture(platform);
  const content = await readFile(findForwarder(platform));
  const folders = { owner: user, paths: [SANDBOX.home, SANDBOX.auth, SANDBOX.workspace] };
  return { name: "budgie-session", architecture, path: FORWARDER, content, folders };
}

/** Copies the forwarder into a folder, and returns its path there. Throws like the file system, and for a platform that it is not built for. */
export function bringForwarder(folder: string, platform: string): string {
  const program = join(folder, "forwarder");
  // A process of an earlier start may still be running it.
  copyFileSync(findForwarder(platform), `${program}.new`);
  chmodSync(`${program}.new`, 0o755);
  renameSync(`${program}.new`, program);
  return program;
}

/** Returns the forwarder's path on the host. Throws `RUNNER_UNAVAILABLE` for a platform that it is not built for. */
function findForwarder(platform: string): string {
  return fileURLToPath(new URL(`../../forwarder/linux-${findArchitecture(platform)}`, import.meta.url));
}

function findArchitecture(platform: string): string {
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) throw noForwarder(platform);
  return architecture;
}

// The architectures that the forwarder is built for, by platform, both in Go's names.
const ARCHITECTURES: Readonly<Record<string, string>> = { "linux/amd64": "amd64", "linux/arm64": "arm64" };

function noForwarder(platform: string): BudgieError {
  const known = Object.keys(ARCHITECTURES).join(" and ");
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine runs programs for ${platform}, and budgie's forwarder is built for ${known}. Use an engine of one of these.`,
  );
}
