import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createOwner,
  createSessionId,
  type Command,
  type EgressPolicy,
  type Projection,
  type Runner,
  type RunnerSession,
  type RunTurn,
  type SessionId,
} from "@budgie/core";
import { watchExecutablePaths } from "@budgie/core/changes";
import { KIRO_HIDDEN_PATHS, type Access } from "@budgie/core/policy";
import type { TurnDependencies } from "@budgie/core/turn";
import { openChildFolder } from "@budgie/core/walk";
import { createKiroLogin } from "@budgie/sandbox/login";
import type { Credentials } from "@budgie/sandbox/profile";
import { createCaller, WRITING } from "./caller.ts";
import { collect, limitSignal, type Ran } from "./collect.ts";
import { createLabNetwork, startLabProxy, type LabNetwork } from "./lab-network.ts";
import { createFakeHome, listProjections, type FakeHome } from "./fake-home.ts";
import { createLabServers, type LabServers, type ServeAgents } from "./lab-servers.ts";
import type { Target } from "./target.ts";
import { startVictim, type Victim } from "./victim.ts";

/** The place where probes run: a real runner with its real security profile, and a fake host. */
export type Lab = AsyncDisposable & {
  /** The lab's own temporary folder, which contains all its files */
  readonly root: string;
  /** The user's fake home, with a secret in every place that matters */
  readonly host: FakeHome;
  /** A project in that home, mounted as the sandbox's workspace */
  readonly workspace: string;
  readonly runner: Runner;
  /** The attacker's session */
  readonly session: RunnerSession;
  /** The targets of network probes */
  readonly network: LabNetwork;
  /** Another session of the same user */
  readonly other: RunnerSession;
  readonly target: Target;
  /** A string in budgie's own environment */
  readonly environmentSecret: string;
  /** Opens a session of a separate runner */
  readonly open: (options?: OpenOptions) => Promise<RunnerSession>;
  /** A tool call of an MCP client; refuses only the directories that budgie always refuses */
  readonly call: RunTurn;
  /** The same with only the project allowed */
  readonly callForProject: RunTurn;
  /** The same for an agent that may write to its directory */
  readonly callWriter: (options?: WriterOptions) => RunTurn;
  /** A turn of the other session that runs until the lab is disposed of; started on the first call */
  readonly victim: () => Promise<Victim>;
  /** Agents whose files name MCP servers; started on the first call. Rejects if the lab cannot give agents servers */
  readonly servers: () => Promise<LabServers>;
  /** Disposes of something together with the lab, after everything created later. */
  readonly keep: (made: AsyncDisposable) => void;
  /** Creates an empty directory, as a probe's own workspace. */
  readonly makeDirectory: () => Promise<string>;
  /** Runs a program to its end in a turn of its own, like an agent. */
  readonly run: (argv: Command["argv"], options?: AttemptOptions) => Promise<Ran>;
};

/** The differences of a lab turn from an agent's. */
export type AttemptOptions = {
  /** Defaults to the attacker's session */
  readonly session?: RunnerSession;
  /** Defaults to the lab's workspace */
  readonly directory?: string | undefined;
  /** Limits tighter than an agent's defaults */
  readonly access?: Partial<Access>;
  /** Projections added to an agent's own */
  readonly projections?: readonly Projection[];
  readonly login?: "kiro";
  readonly protectedPaths?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Time after which it is aborted; default 30 s */
  readonly limitMs?: number;
};

/** Interference with the directory of an agent that may write to it. */
export type WriterOptions = {
  /** Called with a folder's name right before budgie opens it */
  readonly beforeOpening?: (name: string) => void;
};

/** The differences of a separate session from the lab's. */
export type OpenOptions = {
  readonly id?: SessionId;
  readonly credentials?: Credentials;
  /** Defaults to the lab's */
  readonly target?: Target;
};

export type LabOptions = {
  /** The runner to attack */
  readonly target: Target;
  /** The part of the login that sandboxes get; default all of it */
  readonly credentials?: Credentials | undefined;
  /** Gives agents their MCP servers; without it, probes about servers are `untried` */
  readonly serveAgents?: ServeAgents | undefined;
  /** Aborts running turns and prevents new ones */
  readonly signal?: AbortSignal | undefined;
};

// A probe's turn usually takes a fraction of a second.
const TURN_LIMIT_MS = 30_000;

/** Replacements for parts of the product. */
type LabParts = { readonly startProxy?: typeof startLabProxy };

/**
 * Creates the lab, by default with its own host names. Disposing of it removes everything created on the engine and the host.
 */
export async function createLab(options: LabOptions, parts: LabParts = { startProxy: startLabProxy }): Promise<Lab> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "budgie-lab-")));
  const undo: (() => Promise<void>)[] = [() => rm(root, { recursive: true, force: true })];
  // Undoes in reverse order; a failure does not stop the rest.
  const dispose = async (): Promise<void> => {
    const problems: unknown[] = [];
    for (let next = undo.pop(); next !== undefined; next = undo.pop()) {
      await next().catch((error: unknown) => problems.push(error));
    }
    if (problems.length > 0) throw problems[0];
  };
  try {
    const lab = await fillLab({ ...options, ...parts }, root, undo);
    options.signal?.throwIfAborted();
    return { ...lab, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose().catch(() => undefined);
    throw error;
  }
}

async function fillLab(
  { credentials: common, serveAgents, signal: aborting, startProxy, target: attacked }: LabOptions & LabParts,
  root: string,
  undo: (() => Promise<void>)[],
): Promise<Omit<Lab, keyof AsyncDisposable>> {
  const host = await createFakeHome(join(root, "home"));
  const { stateDir } = host;
  const environmentSecret = putIntoEnvironment(undo);
  const owner = createOwner({ stateDir });
  undo.push(() => owner.release());
  const network = addReachable(await createLabNetwork(), attacked);
  undo.push(() => network[Symbol.asyncDispose]());
  const createRunner = async (
    { credentials = common, target = attacked }: Pick<OpenOptions, "credentials" | "target"> = {},
    own = owner,
  ): Promise<Runner> => {
    const login = createKiroLogin({ dataDir: host.kiroDataDir, credentials });
    const proxy = startProxy && { startProxy: () => startProxy(network) };
    const created = await target.createRunner({ owner: own, stateDir, login, ...proxy });
    undo.push(() => created.close());
    return created;
  };
  const runner = await createRunner();
  const session = await runner.openSession(createSessionId());
  const other = await runner.openSession(createSessionId());
  let victim: Promise<Victim> | undefined;
  let servers: Promise<LabServers> | undefined;
  const keep = (made: AsyncDisposable): void => void undo.push(() => Promise.resolve(made[Symbol.asyncDispose]()));
  let directories = 0;
  return {
    root,
    host,
    workspace: host.project,
    runner,
    session,
    network,
    other,
    target: attacked,
    environmentSecret,
    async open({ id = createSessionId(), ...others } = {}) {
      aborting?.throwIfAborted();
      const own = createOwner({ stateDir });
      undo.push(() => own.release());
      return (await createRunner(others, own)).openSession(id);
    },
    call: createCaller({ runner, host }),
    callForProject: createCaller({ runner, host, allowedRoots: [host.project] }),
    callWriter: ({ beforeOpening = () => undefined } = {}) =>
      createCaller({ runner, host, policy: WRITING, watch: createTamperedWatch(beforeOpening) }),
    victim: () => (victim ??= startVictim(other, host.otherProject, accessWith(network.otherPolicy))),
    servers: () => (servers ??= createLabServers({ serveAgents, host, runner, network, keep, signal: aborting })),
    keep,
    async makeDirectory() {
      const directory = join(root, `directory-${++directories}`);
      await mkdir(directory);
      return directory;
    },
    async run(argv, { directory = host.project, env = {}, projections = [], session: own = session, ...turn } = {}) {
      const { limitMs = TURN_LIMIT_MS, login, protectedPaths } = turn;
      // Concurrent turns of one session share its policy.
      const policy = own === other ? network.otherPolicy : network.policy;
      const access = { ...accessWith(policy), ...turn.access };
      const shown = [...listProjections(host), ...projections];
      const command: Command = { argv, env, projections: shown, login, hidden: KIRO_HIDDEN_PATHS };
      const signal = limitSignal(limitMs, aborting);
      return collect(await own.start(command, { directory, access, protectedPaths, input: "", signal }));
    },
  };
}

function createTamperedWatch(beforeOpening: (name: string) => void): TurnDependencies["watch"] {
  return (directory) =>
    watchExecutablePaths(directory, (parent, name) => {
      beforeOpening(name.toString());
      return openChildFolder(parent, name);
    });
}

/** Sets an environment variable with a secret until the lab is disposed of, and returns the secret. */
function putIntoEnvironment(undo: (() => Promise<void>)[]): string {
  const [name, secret] = [`BUDGIE_LAB_${randomUUID().replaceAll("-", "_")}`, `canary-environment-${randomUUID()}`];
  process.env[name] = secret;
  undo.push(async () => void delete process.env[name]);
  return secret;
}

/** Returns the network with a policy that the target can keep, so that all other claims can be tried. */
function addReachable(network: LabNetwork, { hasProxy }: Target): LabNetwork {
  if (hasProxy) return network;
  const none: EgressPolicy = { mode: "none", hosts: [] };
  return { ...network, policy: none, otherPolicy: none };
}

function accessWith(egress: EgressPolicy): Access {
  return { workspace: "rw", egress, limits: {} };
}
