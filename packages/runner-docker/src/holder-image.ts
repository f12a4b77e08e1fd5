import { readFile } from "node:fs/promises";
import { BudgieError } from "@budgie/core";
import type { Engine } from "./engine.ts";
import { ensureOneFileImage } from "./one-file-image.ts";

/** The only file of the holder's image: it takes the path of the proxy's socket, and carries 127.0.0.1:3128 there. */
export const FORWARDER = "/forwarder";

const BINARIES: Readonly<Record<string, { readonly architecture: string; readonly file: URL }>> = {
  "linux/amd64": { architecture: "amd64", file: new URL("../forwarder/linux-amd64", import.meta.url) },
  "linux/arm64": { architecture: "arm64", file: new URL("../forwarder/linux-arm64", import.meta.url) },
};

/** Finds the image that holders run by id, or makes it: whatever the engine and the sandbox image, it is on hand. */
export async function ensureHolderImage({ docker, platform }: Engine): Promise<string> {
  const binary = BINARIES[platform];
  if (binary === undefined) throw noForwarder(platform);
  const { architecture, file } = binary;
  const content = await readFile(file);
  return ensureOneFileImage(docker, { name: "budgie-holder", architecture, path: FORWARDER, content });
}

function noForwarder(platform: string): BudgieError {
  const known = Object.keys(BINARIES).join(" and ");
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine runs programs for ${platform}, and budgie's forwarder is built for ${known}. Use an engine of one of these.`,
  );
}
