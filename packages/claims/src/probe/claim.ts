import type { Command } from "@budgie/core";
import type { Ran } from "../lab/collect.ts";
import type { AttemptOptions, Lab } from "../lab/lab.ts";

/** A promise about what an agent in a sandbox cannot do, the protections that keep it, and attacks that would break it. */
export type Claim = {
  /** A name such as `no-capabilities` */
  readonly id: string;
  /** One sentence */
  readonly promise: string;
  /** The protections that must all be removed for every probe to get through */
  readonly protections: readonly Protection[];
  /** True if only a container engine could break it, so that there is nothing to attack without one; default false */
  readonly isOfEngine?: boolean;
  /** True if none of its probes meets what another one made or left in their sandbox or directory, so that one turn may run them; default false */
  readonly sharesTurn?: boolean;
  readonly probes: readonly Probe[];
};

/** A measure that keeps an agent from something. */
export type Protection = ContainerProtection | OwnProtection;

/** Protections that the engine enforces, as requested when a turn's container is created. */
export type ContainerProtection =
  | "user"
  | "capabilities"
  | "no-new-privileges"
  // budgie's own profile, on every engine.
  | "seccomp"
  // The engine's default profile, on machines with AppArmor.
  | "apparmor"
  | "read-only-root"
  | "own-network"
  | "own-pid-namespace"
  | "own-ipc"
  | "own-host-name"
  // budgie's resolv.conf and hosts files replace the engine's, which name the host's DNS servers.
  | "name-files"
  | "masked-paths"
  | "devices"
  // Ulimits on resources that the kernel limits per user.
  | "user-shares"
  | "pids-limit"
  | "memory-limit"
  | "cpu-limit"
  | "tmpfs-size"
  // Only what a turn needs is mounted.
  | "mounts"
  | "read-only-mounts"
  | "hidden-agents";

/** Protections that budgie's own code enforces. */
type OwnProtection =
  // A sandbox mounts only shared folders of `~/.kiro`, and the running agent's own file.
  | "projection"
  // Every parent of a path written through the archive API is a real directory.
  | "real-parents"
  // Mount sources are held open from their check on, and compared with the container's mounts before the agent starts.
  | "verified-mounts"
  // A session's volumes are mounted only in its own turns.
  | "own-volumes"
  // Only the login is copied from the host's database, as far as --credentials allows.
  | "login-rows"
  // Rows are copied from the session's database into a new one; the old one is never written to.
  | "copied-rows"
  // budgie's own environment is not passed on.
  | "own-environment"
  // Each turn has a new container.
  | "own-container"
  // Only ids that this budgie issued resolve to sessions, and only for the same agent and directory.
  | "session-ids"
  // budgie reads only regular files that the agent wrote.
  | "plain-files"
  // The workspace is a separate mount, and hard links cannot cross mounts.
  | "own-mounts"
  // A call can only narrow its agent's policy.
  | "tighter-policy"
  | "protected-paths"
  | "workspace-rules"
  // Results name the hooks that a sandbox hides.
  | "reported-hooks"
  // Results list changed files that the host would execute or follow.
  | "reported-changes"
  // The directory is read through open folder descriptors; nothing outside it is read.
  | "held-folders"
  | "egress-proxy"
  // budgie runs an agent's MCP servers elsewhere, and shows the agent their addresses alone.
  | "server-entries"
  // Only tools that the configuration, the agent's file and the server's entry allow are offered and called.
  | "allowed-tools"
  // A session's proxy answers for its own servers alone, at addresses that nobody can guess.
  | "own-endpoint"
  // A server's messages are read at a limited rate, and cut or refused beyond a limit.
  | "server-limits";

/** One attack. */
export type Probe = {
  /** The attacker's attempt as an imperative, such as `mount a file system` */
  readonly name: string;
  readonly attempt: (lab: Lab) => Promise<Verdict>;
  /** Prepares the attack as a program of a turn that may run others too; left out or `undefined` if it needs a turn of its own */
  readonly prepare?: (lab: Lab) => Promise<PreparedProbe | undefined>;
};

/** A prepared attack. */
export type PreparedProbe = {
  readonly argv: Command["argv"];
  /** The options of its turn */
  readonly options: AttemptOptions;
  /** Finds the program's verdict in the output of a turn that may have run others too */
  readonly read: (ran: Ran) => Verdict;
};

/** The result of an attack. It is `held` only if a refusal was observed, and `untried` if the attack could not be made. */
export type Verdict = {
  readonly outcome: "held" | "got-through" | "untried";
  /** The refusal, the evidence of success, or the reason why it was not tried */
  readonly detail: string;
};
