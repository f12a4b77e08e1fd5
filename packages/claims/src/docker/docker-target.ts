import type { DockerRunnerOptions } from "@budgie/runner-docker";
import { createDockerRunner, type HostEnvironment, type RunnerParts, type Weaker } from "@budgie/runner-docker/lab";
import { sharesNetwork } from "@budgie/sandbox/egress";
import type { Target } from "../lab/target.ts";
import { inspectContainers } from "./inspect-containers.ts";
import { createTamperingEngine } from "./tampering-engine.ts";

/** The options that select the engine, its runtime and the image. */
export type DockerTargetOptions = Pick<
  DockerRunnerOptions,
  "caFile" | "image" | "limits" | "runtime" | "upstreamProxy"
> & { readonly home: string; readonly hostEnv: HostEnvironment };

// Accepts an engine without these protections: the probes show what is missing, and no agent runs.
const ANY: readonly Weaker[] = ["limits", "seccomp", "ulimits"];

/** The sandboxes of one engine. */
export type DockerTarget = Target & Pick<DockerTargetOptions, "hostEnv">;

/** Creates the target of sandboxes on Docker or Podman, with their real security profile. */
export function createDockerTarget(
  options: DockerTargetOptions,
  parts: Pick<RunnerParts, "openRoot"> = {},
): DockerTarget {
  return {
    hostEnv: options.hostEnv,
    createRunner: ({ startProxy, ...lab }) =>
      createDockerRunner(
        { ...options, ...lab, acceptWeaker: ANY },
        { ...parts, ...(startProxy === undefined ? {} : { startProxy }) },
      ),
    hasProxy: sharesNetwork(options.runtime),
    engine: {
      inspect: (root) => inspectContainers(options, root),
      async tamper({ openRoot, ...tampering }) {
        const engine = await createTamperingEngine(options);
        if (engine === undefined) return undefined;
        engine.tamper(tampering);
        const target = createDockerTarget({ ...options, hostEnv: engine.hostEnv }, { openRoot });
        return { ...target, [Symbol.asyncDispose]: engine[Symbol.asyncDispose] };
      },
    },
  };
}
