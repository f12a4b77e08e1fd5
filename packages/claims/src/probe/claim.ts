import type { Lab } from "../lab/lab.ts";

/** One promise about what an agent in a sandbox cannot do, with what keeps it and the attacks that would show it broken. */
export type Claim = {
  /** Such as `no-capabilities` */
  readonly id: string;
  /** In one sentence */
  readonly promise: string;
  /** Taken away together, they let every one of the probes through; a single one may not */
  readonly protections: readonly Protection[];
  readonly probes: readonly Probe[];
};

/** What stands in an agent's way. */
export type Protection = ContainerProtection | OwnProtection;

/** Protections that the engine builds, as the body of a turn's container asks it to. */
export type ContainerProtection =
  | "user"
  | "capabilities"
  | "no-new-privileges"
  // budgie's profile, on every engine.
  | "seccomp"
  // The engine's profile, where the machine has AppArmor.
  | "apparmor"
  | "read-only-root"
  | "own-network"
  | "own-pid-namespace"
  | "own-ipc"
  | "own-host-name"
  // budgie's files in place of the engine's, which name the host's name servers.
  | "name-files"
  | "masked-paths"
  | "devices"
  // Ulimits on resources that the kernel counts per user.
  | "user-shares"
  | "pids-limit"
  | "memory-limit"
  | "cpu-limit"
  | "tmpfs-size"
  // Nothing is mounted but what a turn needs.
  | "mounts"
  | "read-only-mounts"
  | "hidden-agents";

/** Protections of budgie's own code. */
type OwnProtection =
  // Only some children of `~/.kiro` and the running agent's own file are shown.
  | "projection"
  // Every parent of what goes through the archive API is a real directory.
  | "real-parents"
  // Before an agent begins, the container's mounts are compared with the sources, which are open since their check.
  | "verified-mounts"
  // A session's volumes are mounted in its own turns alone.
  | "own-volumes"
  // Of the host's database only the login is copied, and of the login what --credentials says.
  | "login-rows"
  // A session's rows are copied into a new database, and nothing is written to the old one.
  | "copied-rows"
  // Nothing of budgie's own environment is passed on.
  | "own-environment"
  // Each turn has a new container.
  | "own-container"
  // Sessions are found by ids that this budgie gave out, for the same agent and directory.
  | "session-ids"
  // What the agent wrote is read by budgie as a plain file or not at all.
  | "plain-files"
  // The workspace is a mount of its own, and no link's name leads over its edge.
  | "own-mounts"
  // A call can only ask for less than is configured.
  | "tighter-policy"
  | "protected-paths"
  | "workspace-rules"
  // Results name the hooks that a sandbox hides.
  | "reported-hooks"
  // A result says what a turn left in its directory for the host to run or to follow.
  | "reported-changes"
  // What is in a directory is reached through folders that are held open, and nothing outside of it is looked at.
  | "held-folders"
  | "egress-proxy";

/** One attack. */
export type Probe = {
  /** What the attacker tries, such as `mount a file system` */
  readonly name: string;
  readonly attempt: (lab: Lab) => Promise<Verdict>;
};

/** How an attack went. Only what saw the protection hold says `held`; one that could not be made at all is `untried`. */
export type Verdict = {
  readonly outcome: "held" | "got-through" | "untried";
  /** What refused it, what it got, or why it was not made */
  readonly detail: string;
};
