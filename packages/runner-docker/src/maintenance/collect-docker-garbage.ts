import type { GcPolicy, GcReport, Owner } from "@budgie/core";
import { collectGarbage } from "./collect-garbage.ts";
import { connectEngine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-engine.ts";

export type CollectOptions = {
  readonly owner: Owner;
  readonly stateDir: string;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  readonly policy: GcPolicy;
};

/** Removes what dead owners left on the user's engine; needs no image. Throws `RUNNER_UNAVAILABLE` without an engine. */
export async function collectDockerGarbage(options: CollectOptions): Promise<GcReport> {
  const { docker } = await connectEngine(options.hostEnv, options.home);
  return collectGarbage(docker, options.owner, { ...options.policy, stateDir: options.stateDir });
}
