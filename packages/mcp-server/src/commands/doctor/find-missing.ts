import { createOwner } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { withFlags } from "../../terminal/with-flags.ts";

/** Returns a sentence on each thing that sandboxed turns need and this machine lacks: engine, image, runtime. */
export async function findMissing(config: Config, { env: hostEnv, home }: Host): Promise<readonly string[]> {
  if (!config.sandbox) return [];
  const { inspectSandbox } = await import("@budgie/runner-docker");
  const { credentials, kiroBinary: program, kiroDataDir, runtime, sandboxImage: image, stateDir } = config;
  const { record: owner } = createOwner({ stateDir });
  const options = { image, program, owner, kiroDataDir, home, hostEnv, credentials, runtime };
  const facts = await inspectSandbox(options);
  const problems = [facts.engine, facts.image, facts.runtime].flatMap((part) =>
    part === undefined || part.ok ? [] : [withFlags(part.problem)],
  );
  // Without an engine nothing else can be looked for.
  return facts.engine.ok ? problems : problems.slice(0, 1);
}
