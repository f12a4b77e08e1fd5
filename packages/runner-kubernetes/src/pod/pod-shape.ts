/** All that differs between the Pods of sessions. Nothing of a turn is in it: everybody who may read Pods can read it. */
export type PodShape = {
  readonly name: string;
  readonly images: { readonly agent: string; readonly sidecar: string };
  /** Default: the cluster's, which fetches an image unless its tag is fixed */
  readonly pullPolicy?: "Always" | "IfNotPresent" | "Never" | undefined;
  /** No root: Pod Security `restricted` refuses it */
  readonly user: { readonly uid: number; readonly gid: number };
  readonly limits: PodLimits;
  /** The path of the workspace's copy in the agent's container */
  readonly workspace: string;
  /** The path at which the agent has the host's files that are shown at their own paths, of `findShownPath`; default none */
  readonly shownPath?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** The object with whose removal the cluster removes the Pod */
  readonly owner?: PodOwner | undefined;
  readonly runtimeClass?: string | undefined;
  /** The time after which the cluster ends the Pod by itself */
  readonly mostSeconds: number;
};

/** The limits of a Pod, in whole bytes; processors may be a part of one. */
export type PodLimits = {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Limit of the home, which the sidecar keeps */
  readonly homeBytes: number;
  readonly copyBytes: number;
  readonly tmpBytes: number;
};

/** An object of the Pod's namespace: its owner elsewhere would be taken for one that is gone. */
export type PodOwner = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
};
