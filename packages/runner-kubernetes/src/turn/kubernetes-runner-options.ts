import type { Owner } from "@budgie/core";
import type { Limits } from "@budgie/core/policy";
import type { Login } from "@budgie/sandbox/login";
import type { ClusterOptions } from "../api/index.ts";
import type { Wall } from "../proof/index.ts";

export type KubernetesRunnerOptions = Pick<ClusterOptions, "context" | "kubeconfig" | "namespace"> & {
  /** The agents' image, which the nodes can fetch: any with the agents' programs on its PATH */
  readonly image: string;
  /** Budgie's own image, of `docker/kubernetes` */
  readonly sidecarImage: string;
  readonly owner: Owner;
  /** The folder of budgie's files on the host, which gets kept sessions */
  readonly stateDir: string;
  /** Limits of one turn; default 4 GiB, 2 processors, 512 processes, 10 GiB in the home */
  readonly limits?: Partial<Limits>;
  /** The login that commands may ask for, such as `createKiroLogin`'s; default none */
  readonly login?: Login | undefined;
  /** A RuntimeClass of the cluster; default its own */
  readonly runtimeClass?: string | undefined;
  /** Walls around the network of agents that the cluster may lack, and `own-node` for ports of its node that the jail leaves open; default none */
  readonly acceptWeaker?: readonly (Wall | "own-node")[] | undefined;
  /** Ports of a Pod, besides its ephemeral ones, to which its processes may connect; default none */
  readonly ports?: readonly number[] | undefined;
  /** Time for which a session waits for a place on the cluster; default 10 minutes */
  readonly waitMs?: number | undefined;
  /** A file of the host with the certificates that agents trust */
  readonly caFile?: string | undefined;
  /** URL of the proxy through which the host reaches the internet */
  readonly upstreamProxy?: string | undefined;
  /** Time after which a session's Pod without a turn is removed; default 5 minutes. A kept session gets another one */
  readonly podIdleMs?: number | undefined;
  /** Time after its last use during which another runner can resume a session; without it, sessions end with this runner */
  readonly keepSessionsMs?: number | undefined;
  /** Time for which `close` packs kept sessions, whose Pods it leaves after that; default 3 seconds, since clients kill servers that end late */
  readonly closeMs?: number | undefined;
  /** Number of Pods that wait for sessions; default none */
  readonly ahead?: number | undefined;
};
