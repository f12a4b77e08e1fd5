/**
 * The place in which a claim's attacks succeed: a plain Pod; one that has the node's network and processes; one in whose network somebody answers
 * at each address; a folder of the host that is home and workspace; a plain Pod that gets a login by a path with links in it; the Pod of another session; or a sandbox behind a proxy that lets through what
 * budgie's does not.
 */
export type ControlPlace =
  | "plain"
  | "node"
  | "played"
  | "one-folder"
  | "followed"
  | "other-pod"
  | "unwatched"
  | "forgetful";

/** A claim in a Pod, as the table of docs/kubernetes.md has it. */
export type OnCluster = {
  /** Default: a plain Pod */
  readonly control?: ControlPlace;
  /** Probes that get through in a Pod, so that the claim is changed there */
  readonly open?: readonly string[];
  /** Probes that fail in the control too, since budgie's machine is not the node, and has no volumes of sessions */
  readonly alone?: readonly string[];
  /** Probes that find nothing to attack in a Pod */
  readonly moot?: readonly string[];
};

/** The claims that are kept or changed on a cluster, by their ids. */
export const ON_CLUSTER: Readonly<Record<string, OnCluster>> = {
  "no-capabilities": {},
  "no-setuid": {},
  "no-setuid-files": {},
  "no-mounts": {},
  "no-namespaces": {},
  "no-kernel-modules": {},
  "no-kernel-control": {},
  "no-keyrings": {},
  "no-devices": {},
  "no-shared-io": {},
  "no-other-sockets": {},
  "no-kernel-settings": {},
  "no-kernel-secrets": {},
  "no-system-settings": {},
  "no-other-processes": { control: "node" },
  "no-tracing": { control: "node" },
  "own-shared-memory": {},
  "own-host-name": { control: "node" },
  "no-engine": {},
  "no-abstract-sockets": { control: "node" },
  "read-only-root": {},
  "read-only-mounts": { open: ["add a steering file", "add an agent"] },
  "bounded-processes": {},
  "bounded-memory": {},
  "bounded-temporary-files": {},
  "bounded-user-shares": {},
  "bounded-cpu": {},
  "one-directory": {},
  "own-kiro-files": {},
  "own-environment": { moot: ["read it from PID 1"] },
  "own-volumes": { alone: ["have another session's volume mounted"] },
  "new-container": { moot: ["find what an earlier turn left in /var/tmp"] },
  "read-only-workspace": { open: ["change a file's mode"] },
  "kept-configuration": {
    open: [
      "delete a steering file in $HOME",
      "rename another file over it in $HOME",
      "replace it with a symlink in $HOME",
    ],
  },
  "own-definition": {
    open: [
      "add an agent to those of the repository",
      "add an agent to a repository without any",
      "replace the hidden folder with one of its own",
    ],
  },
  "no-disguised-agents": {},
  "links-end-inside": {},
  "no-hard-links-out": { control: "one-folder" },
  "planted-home": { control: "followed" },
  "plain-files": {},
  "no-direct-network": { control: "played" },
  "no-metadata": { control: "played" },
  "no-dns": { control: "played" },
  "no-host-services": {
    control: "node",
    open: ["find a network interface", "find a route out"],
    alone: [
      "connect to it on the loopback",
      "connect to a service that listens only on the loopback",
      "send it a datagram there",
      "be in the machine's network",
    ],
  },
  "no-raw-network": {},
  "own-names": {},
  "own-proxy-socket": { control: "node" },
  "own-way-out": { control: "other-pod" },
  "only-allowed-names": { control: "unwatched" },
  "only-public-addresses": { control: "unwatched" },
  "only-for-its-host": { control: "unwatched" },
  "no-rebinding": { control: "forgetful" },
  "no-smuggled-requests": { control: "unwatched" },
};
