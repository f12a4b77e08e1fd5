import type { Limits } from "@budgie/core/policy";
import type { IdleContainers, ProxyFolder } from "@budgie/sandbox/egress";
import type { Trust } from "../egress/index.ts";
import type { KeptStore } from "../keeping/create-kept-sessions.ts";
import type { KubernetesRunnerOptions } from "./kubernetes-runner-options.ts";
import type { Gate } from "../proof/index.ts";
import type { PodPlace } from "../session/live-pod.ts";

/** All that the sessions of a runner share. */
export type ClusterContext = {
  readonly options: KubernetesRunnerOptions;
  readonly limits: Limits;
  /** Resolves to the place of Pods, with a lease that the first session makes */
  readonly place: () => Promise<PodPlace>;
  readonly proxies: ProxyFolder;
  readonly gate: Gate;
  readonly kept: KeptStore;
  /** The Pods without a turn, which leave the cluster after a while */
  readonly idle: IdleContainers;
  /** The certificates that agents trust; `undefined` for the image's own */
  readonly trust: Trust | undefined;
  /** A private folder of the host for files that exist for some milliseconds */
  readonly scratchDir: string;
};
