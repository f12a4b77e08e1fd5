import type { ExecOptions } from "../wire/index.ts";

/** A cluster's API, as far as the runner uses it, with the credentials of one context in one namespace. */
export type Cluster = {
  /** The kubeconfig's context */
  readonly name: string;
  readonly namespace: string;
  /** The API server, as the kubeconfig names it */
  readonly server: URL;
  /** The API server's version, such as `v1.34.4` */
  readonly version: (limits?: Limits) => Promise<string>;
  /** Creates an object; with `isDryRun`, only asks if the cluster would take it */
  readonly create: (kind: Kind, manifest: Manifest, options?: CreateOptions) => Promise<Answer>;
  readonly get: (kind: Kind, name: string, limits?: Limits) => Promise<Answer>;
  readonly list: (kind: ListedKind, selector: string, limits?: Limits) => Promise<readonly ClusterObject[]>;
  /** Tells if the cluster lets these credentials do that in the namespace */
  readonly may: (right: Right, limits?: Limits) => Promise<boolean>;
  /** Applies a JSON merge patch. With `metadata.resourceVersion` in it, an object that changed meanwhile is a conflict */
  readonly patch: (kind: Kind, name: string, change: Manifest) => Promise<Answer>;
  /** Replaces an object, whose manifest has `metadata.name` and `metadata.resourceVersion` */
  readonly update: (kind: Kind, manifest: Manifest) => Promise<Answer>;
  /** Deletes this very object, and resolves once it is gone */
  readonly remove: (kind: Kind, object: Pick<ClusterObject, "name" | "uid">, limits?: Limits) => Promise<void>;
  /** Tells all Pods with these labels, and each change, until it is closed. It outlives restarts of the API server */
  readonly watchPods: (selector: string, onChange: (change: PodChange) => void) => PodWatch;
  /**
   * Resolves to true once kubelet says that it started a container of a Pod, or to false if the cluster does not tell that. Never rejects, and
   * may take as long as the signal allows
   */
  readonly hearStart: (
    pod: Pick<ClusterObject, "resourceVersion" | "uid">,
    container: string,
    signal: AbortSignal,
  ) => Promise<boolean>;
  /** Returns the way to an exec, with the credentials of now */
  readonly execOptions: (pod: string, container: string, command: readonly string[]) => Promise<ExecOptions>;
};

/** The kinds of objects that the runner makes. */
export type Kind = "pods" | "leases";

/** The kinds of objects that it lists: also those by which a cluster's owner restricts Pods. */
export type ListedKind = Kind | "networkpolicies" | "resourcequotas";

/** A verb on a resource, as Roles have them: `pods/exec` is a resource. */
export type Right = { readonly group: string; readonly resource: string; readonly verb: string };

/** An object to send. It may be secret, and no error shows it. */
export type Manifest = Readonly<Record<string, unknown>>;

/** The limits of a call: its time in all, with waiting for a busy server (default 30 s), and a signal that cancels it. */
export type Limits = { readonly limitMs?: number; readonly signal?: AbortSignal | undefined };

export type CreateOptions = Limits & { readonly isDryRun?: boolean };

/** An object of the cluster. Whoever may write there chose its words. */
export type ClusterObject = {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly created: Date;
  /** True once its deletion was asked for */
  readonly isEnding: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ownerUids: readonly string[];
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
};

/**
 * The answer to a request that reached the cluster. `wait`: a quota is used up, so that it may succeed later; `exists` and `changed`: conflicts
 * with an object of this name, or with a newer version of it.
 */
export type Answer =
  | { readonly outcome: "done"; readonly object: ClusterObject }
  | { readonly outcome: "missing" | "exists" | "changed" }
  | { readonly outcome: "wait"; readonly why: string };

/** A Pod that is new or changed, or that is gone, as it last was. */
export type PodChange = { readonly pod: ClusterObject; readonly isGone: boolean };

/** A running watch. */
export type PodWatch = {
  readonly close: () => void;
  /** Resolves when it is over: to the reason, if the cluster does not allow it. Never rejects */
  readonly ended: Promise<Error | undefined>;
};
