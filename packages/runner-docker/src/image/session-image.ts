import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { BudgieError } from "@budgie/core";
import type { Engine } from "../engine/engine.ts";
import { FORWARDER } from "../sandbox/container-options.ts";
import { ensureOneFileImage } from "./one-file-image.ts";

/** Returns the id of the image that session containers run, which is created if the engine lacks it. It does not depend on the sandbox image. */
export async function ensureSessionImage(engine: Engine): Promise<string> {
  const { platform } = engine;
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) throw noForwarder(platform);
  const content = await readFile(fileURLToPath(new URL(`../../forwarder/linux-${architecture}`, import.meta.url)));
  return ensureOneFileImage(engine, { name: "budgie-session", architecture, path: FORWARDER, content });
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
