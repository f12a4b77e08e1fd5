import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  createOwner,
  createSessionId,
  holdChild,
  watchExecutablePaths,
  type Access,
  type AgentProcess,
  type Command,
  type EgressPolicy,
  type Exit,
  type Projection,
  type Runner,
  type RunnerSession,
  type RunTurn,
  type SessionId,
  type TurnDependencies,
} from "@budgie/core";
import type { Credentials, DockerRunnerOptions } from "@budgie/runner-docker";
import { createDockerRunner, type HostEnvironment, type LookInto, type Weaker } from "@budgie/runner-docker/lab";
import { createCaller, WRITING } from "./caller.ts";
import { createLabNetwork, startLabProxy, type LabNetwork } from "./lab-network.ts";
import { createFakeHome, toProjections, type FakeHome } from "./fake-home.ts";
import { startVictim, type Victim } from "./victim.ts";

/** Where probes are made: the real runner with its real profile, and a host made up for it. */
export type Lab = AsyncDisposable & {
  /** Below the temporary folder; everything else is in it */
  readonly root: string;
  /** The user's home, with secrets at all the places that matter */
  readonly host: FakeHome;
  /** A project in that home, which the sandbox is given */
  readonly workspace: string;
  readonly runner: Runner;
  /** The attacker's */
  readonly session: RunnerSession;
  /** What probes of the network are aimed at */
  readonly network: LabNetwork;
  /** Another one, of the same user */
  readonly other: RunnerSession;
  /** Where the engine is looked for */
  readonly engine: Pick<LabOptions, "home" | "hostEnv">;
  /** A string in budgie's own environment */
  readonly environmentSecret: string;
  /** Opens a session of a runner of its own */
  readonly open: (options?: OpenOptions) => Promise<RunnerSession>;
  /** A tool call of an MCP client whose budgie allows any directory but those that it always refuses */
  readonly call: RunTurn;
  /** The same where only the project is allowed */
  readonly callForProject: RunTurn;
  /** The same of an agent that may write to its directory */
  readonly callWriter: (options?: WriterOptions) => RunTurn;
  /** A turn of the other session that stays for as long as the lab does; started when it is first asked for */
  readonly victim: () => Promise<Victim>;
  /** Disposes of something with the lab, after all that is made later. */
  readonly keep: (made: AsyncDisposable) => void;
  /** Makes an empty directory, for a workspace of a probe's own. */
  readonly makeDirectory: () => Promise<string>;
  /** Runs a program to its end in a turn of its own, as the agent would be. */
  readonly run: (argv: Command["argv"], options?: TurnOptions) => Promise<Ran>;
};

/** What a turn of the lab has otherwise than an agent's. */
export type TurnOptions = {
  /** Default the attacker's */
  readonly session?: RunnerSession;
  /** Default the lab's workspace */
  readonly directory?: string | undefined;
  /** Tighter than an agent's by default */
  readonly access?: Partial<Access>;
  /** Added to those of an agent's turn */
  readonly projections?: readonly Projection[];
  readonly login?: "kiro";
  readonly protectedPaths?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** What others do to the directory of an agent that may write to it. */
export type WriterOptions = {
  /** Called right before budgie opens a folder of the directory by its name */
  readonly beforeOpening?: (name: string) => void;
};

/** What a session of its own has otherwise than the lab's. */
export type OpenOptions = {
  readonly id?: SessionId;
  readonly credentials?: Credentials;
  readonly hostEnv?: HostEnvironment;
  readonly lookInto?: LookInto;
};

/** A program that ran to its end. */
export type Ran = { readonly stdout: string; readonly stderr: string; readonly exit: Exit };

/** Of the runner's options those that say which engine and what to run on it. */
export type LabOptions = Pick<
  DockerRunnerOptions,
  "caFile" | "credentials" | "home" | "hostEnv" | "image" | "limits" | "runtime" | "upstreamProxy"
> & {
  /** Ends the lab's turns, and lets none begin */
  readonly signal?: AbortSignal | undefined;
};

// The probes show which protections are missing, and no agent runs.
const ANY: readonly Weaker[] = ["limits", "seccomp", "ulimits"];

// A probe's turn takes a fraction of a second.
const TURN_LIMIT_MS = 30_000;

type RunnerOptions = Partial<LabOptions> & Pick<OpenOptions, "lookInto">;

/** In place of the proxy that users have. */
type LabParts = { readonly startProxy?: typeof startLabProxy };

/** Builds the lab, by default with names that are its own; disposing it removes all that was made, on the engine and on the host. */
export async function createLab(options: LabOptions, parts: LabParts = { startProxy: startLabProxy }): Promise<Lab> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "budgie-lab-")));
  const undo: (() => Promise<void>)[] = [() => rm(root, { recursive: true, force: true })];
  // The last made goes first, and what cannot go keeps nothing else from going.
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
  { startProxy, ...options }: LabOptions & LabParts,
  root: string,
  undo: (() => Promise<void>)[],
): Promise<Omit<Lab, keyof AsyncDisposable>> {
  const host = await createFakeHome(join(root, "home"));
  const { stateDir } = host;
  const environmentSecret = putIntoEnvironment(undo);
  const owner = createOwner({ stateDir });
  undo.push(() => owner.release());
  const network = await createLabNetwork();
  undo.push(() => network[Symbol.asyncDispose]());
  const createRunner = async ({ lookInto, ...others }: RunnerOptions = {}, own = owner): Promise<Runner> => {
    const known = { owner: own, stateDir, kiroDataDir: host.kiroDataDir };
    const proxy = startProxy && { startProxy: () => startProxy(network) };
    const created = await createDockerRunner(
      { ...options, ...others, ...known, acceptWeaker: ANY },
      { ...proxy, lookInto },
    );
    undo.push(() => created.close());
    return created;
  };
  const runner = await createRunner();
  const session = await runner.openSession(createSessionId());
  const other = await runner.openSession(createSessionId());
  let victim: Promise<Victim> | undefined;
  let directories = 0;
  return {
    root,
    host,
    workspace: host.project,
    runner,
    session,
    network,
    other,
    engine: options,
    environmentSecret,
    async open({ id = createSessionId(), ...others } = {}) {
      options.signal?.throwIfAborted();
      const own = createOwner({ stateDir });
      undo.push(() => own.release());
      return (await createRunner(others, own)).openSession(id);
    },
    call: createCaller({ runner, host }),
    callForProject: createCaller({ runner, host, allowedRoots: [host.project] }),
    callWriter: ({ beforeOpening = () => undefined } = {}) =>
      createCaller({ runner, host, policy: WRITING, watch: toTamperedWatch(beforeOpening) }),
    victim: () => (victim ??= startVictim(other, host.otherProject, toAccess(network.otherPolicy))),
    keep: (made) => void undo.push(() => Promise.resolve(made[Symbol.asyncDispose]())),
    async makeDirectory() {
      const directory = join(root, `directory-${++directories}`);
      await mkdir(directory);
      return directory;
    },
    async run(argv, { directory = host.project, env = {}, projections = [], session: own = session, ...turn } = {}) {
      const { login, protectedPaths } = turn;
      // Turns of one session that run at the same time share its policy.
      const policy = own === other ? network.otherPolicy : network.policy;
      const access = { ...toAccess(policy), ...turn.access };
      const command: Command = { argv, env, projections: [...toProjections(host), ...projections], login };
      const limit = AbortSignal.timeout(TURN_LIMIT_MS);
      const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]);
      return collect(await own.start(command, { directory, access, protectedPaths, input: "", signal }));
    },
  };
}

function toTamperedWatch(beforeOpening: (name: string) => void): TurnDependencies["watch"] {
  return (directory) =>
    watchExecutablePaths(directory, (parent, name) => {
      beforeOpening(name.toString());
      return holdChild(parent, name);
    });
}

/** For as long as the lab is there. */
function putIntoEnvironment(undo: (() => Promise<void>)[]): string {
  const [name, secret] = [`BUDGIE_LAB_${randomUUID().replaceAll("-", "_")}`, `canary-environment-${randomUUID()}`];
  process.env[name] = secret;
  undo.push(async () => void delete process.env[name]);
  return secret;
}

function toAccess(egress: EgressPolicy): Access {
  return { workspace: "rw", egress, limits: {} };
}

/** Waits for a process and keeps what it says. */
export async function collect({ exit, stderr, stdout }: AgentProcess): Promise<Ran> {
  const [out, err, ended] = await Promise.all([text(stdout), text(stderr), exit]);
  return { stdout: out, stderr: err, exit: ended };
}
