import { homedir } from "node:os";
import type { StartOptions } from "@budgie/core";
import type { Limits } from "@budgie/core/policy";
import { findWorkspacePath } from "@budgie/sandbox/profile";
import type { KubernetesRunnerOptions } from "./kubernetes-runner-options.ts";
import { findShownPath } from "../pod/index.ts";
import type { PodOpening } from "../session/open-pod.ts";

/** The parts of a runner that its Pods depend on. */
export type ShapeOf = {
  readonly options: Pick<KubernetesRunnerOptions, "image" | "runtimeClass" | "sidecarImage">;
  readonly limits: Limits;
};

/** The parts of a start that its Pod depends on. */
type Asked = Pick<StartOptions, "access" | "directory" | "workspacePath">;

/** The most that a copy of a workspace takes, with what the agent adds to it. */
const COPY_BYTES = 10 * 1024 ** 3;

/** Returns the Pod that a start needs. */
export function toShape({ limits, options }: ShapeOf, asked: Asked): PodOpening["shape"] {
  const workspace = findWorkspacePath(asked);
  const { cpus, diskBytes, memoryBytes, tmpBytes } = { ...limits, ...asked.access?.limits };
  return {
    images: { agent: options.image, sidecar: options.sidecarImage },
    runtimeClass: options.runtimeClass,
    limits: { cpus, memoryBytes, homeBytes: diskBytes, copyBytes: COPY_BYTES, tmpBytes },
    workspace,
    shownPath: findShownPath(homedir(), workspace),
  };
}
