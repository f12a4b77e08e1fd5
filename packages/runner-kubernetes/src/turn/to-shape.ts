import { homedir } from "node:os";
import type { StartOptions } from "@budgie/core";
import type { Limits } from "@budgie/core/policy";
import { findWorkspacePath } from "@budgie/sandbox/profile";
import type { KubernetesRunnerOptions } from "./kubernetes-runner-options.ts";
import { findShownPath, toPodLimits } from "../pod/index.ts";
import type { PodOpening } from "../session/open-pod.ts";

/** The parts of a runner that its Pods depend on. */
export type ShapeOf = {
  readonly options: Pick<KubernetesRunnerOptions, "image" | "runtimeClass" | "sidecarImage">;
  readonly limits: Limits;
};

/** The parts of a start that its Pod depends on. */
type Asked = Pick<StartOptions, "access" | "directory" | "workspacePath">;

/** Returns the Pod that a start needs. */
export function toShape({ limits, options }: ShapeOf, asked: Asked): PodOpening["shape"] {
  const workspace = findWorkspacePath(asked);
  return {
    images: { agent: options.image, sidecar: options.sidecarImage },
    runtimeClass: options.runtimeClass,
    limits: toPodLimits({ ...limits, ...asked.access?.limits }),
    workspace,
    shownPath: findShownPath(homedir(), workspace),
  };
}
