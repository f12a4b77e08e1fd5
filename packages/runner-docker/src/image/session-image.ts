import { FORWARDER } from "../sandbox/container-options.ts";
import { readFile } from "node:fs/promises";
import { BudgieError } from "@budgie/core";
import type { Engine } from "../engine/engine.ts";
import { findForwarder, FORWARDER_PLATFORMS } from "./find-forwarder.ts";
import { ensureOneFileImage } from "./one-file-image.ts";

/** Returns the id of the image that session containers run, which is created if the engine lacks it. It does not depend on the sandbox image. */
export async function ensureSessionImage(engine: Engine): Promise<string> {
  const { platform } = engine;
  const forwarder = findForwarder(platform);
  if (forwarder === undefined) throw noForwarder(platform);
  const { architecture, file } = forwarder;
  const content = await readFile(file);
  return ensureOneFileImage(engine, { name: "budgie-session", architecture, path: FORWARDER, content });
}

function noForwarder(platform: string): BudgieError {
  const known = FORWARDER_PLATFORMS.join(" and ");
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine runs programs for ${platform}, and budgie's forwarder is built for ${known}. Use an engine of one of these.`,
  );
}
