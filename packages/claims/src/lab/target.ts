import type { Owner, Runner } from "@budgie/core";
import type { EgressProxy } from "@budgie/egress";
import type { Login } from "@budgie/sandbox/login";
import type { OpenRoot } from "@budgie/sandbox/proc";

/** A runner that the claims attack. Its processes begin in the workspace, as an agent's tools do. */
export type Target = {
  /** Creates the runner for the lab's owner; rejects if the machine lacks something that it needs */
  readonly createRunner: (options: TargetOptions) => Promise<Runner>;
  /** True if its processes can reach the egress proxy; without one, they run without a network */
  readonly hasProxy: boolean;
  /** Listens on an abstract Unix socket of the machine that its processes run on; default: of this machine */
  readonly listenBeside?: ((name: string) => Promise<AsyncDisposable>) | undefined;
  /** The container engine behind it; left out if it has none, and {@link NO_ENGINE} is then the verdict on what only an engine can break */
  readonly engine?: TargetEngine | undefined;
};

/** The lab's parts of a runner. */
export type TargetOptions = {
  readonly owner: Owner;
  readonly stateDir: string;
  /** The login of the lab's host, for commands that ask for it */
  readonly login: Login;
  /** Starts the lab's egress proxy in place of the runner's */
  readonly startProxy?: (() => Promise<EgressProxy>) | undefined;
};

/** The view of a container engine that an attacker has who is on its machine. */
export type TargetEngine = {
  /** Inspects the containers whose owner's state is below a folder. */
  readonly inspect: (root: string) => Promise<readonly ShownContainer[]>;
  /** Creates the same target with interference at its first turn's start; `undefined` if its requests cannot be intercepted */
  readonly tamper: (tampering: Tampering) => Promise<(Target & AsyncDisposable) | undefined>;
};

/** A container as its engine shows it. */
export type ShownContainer = {
  /** The session whose turn it runs; `undefined` if it runs none */
  readonly session: string | undefined;
  /** Everything that the engine tells of it */
  readonly text: string;
};

/** Callbacks around the creation and start of a turn's container. */
export type Tampering = {
  /** Called right before the container is created, after all checks */
  readonly atCreation?: () => void;
  /** Called right before the engine mounts anything, which Podman does on attach */
  readonly before?: () => void | Promise<void>;
  /** Called right after the start */
  readonly after?: () => void;
  /** Replaces the look at a container's files */
  readonly openRoot?: OpenRoot;
};

/** The report that the runner has no container engine to attack. */
export const NO_ENGINE = "this runner has no container engine";

/** Returns the target's engine, or throws {@link NO_ENGINE}. */
export function requireEngine({ engine }: Target): TargetEngine {
  if (engine === undefined) throw new Error(NO_ENGINE);
  return engine;
}
