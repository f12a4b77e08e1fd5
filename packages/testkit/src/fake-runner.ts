import { PassThrough, Readable } from "node:stream";
import {
  BudgieError,
  type AgentProcess,
  type Command,
  type EgressReport,
  type Exit,
  type Runner,
  type RunnerSession,
  type SessionId,
  type StartOptions,
  type StopReason,
} from "@budgie/core";

/** A process that a fake runner started. */
export type FakeRun = {
  readonly session: SessionId;
  readonly command: Command;
  readonly options: StartOptions;
  /** Resolves when the process is asked to end; it may ignore that */
  readonly stopped: Promise<StopReason>;
  /** Writes a file to the session's home */
  readonly writeFile: (name: string, text: string) => void;
};

/** The output and exit of a process; by default no output and exit code 0. */
export type FakeEnd = {
  readonly stdout?: string | Readable;
  readonly stderr?: string;
  readonly exit?: Partial<Exit>;
  /** Hosts that it reached or was refused; only for programs that return at once, otherwise there is no report */
  readonly egress?: EgressReport;
};

/** A function that stands for a program; `start` rejects with what it throws. */
export type FakeProgram = (run: FakeRun) => FakeEnd | Promise<FakeEnd>;

/** A runner without processes, and its observable state. */
export type FakeRunner = Runner & {
  readonly runs: readonly FakeRun[];
  /** The existing homes with their files */
  readonly homes: ReadonlyMap<SessionId, ReadonlyMap<string, string>>;
};

/** Creates a runner that calls `program` instead of starting processes, for tests of order and state. */
export function createFakeRunner(program: FakeProgram, notices: readonly string[] = []): FakeRunner {
  const runs: FakeRun[] = [];
  const homes = new Map<SessionId, Map<string, string>>();

  function openSession(id: SessionId): RunnerSession {
    const files = homes.get(id) ?? new Map<string, string>();
    homes.set(id, files);
    return {
      id,
      paths: (directory) => ({ workspace: directory, home: `/homes/${id}` }),
      async start(command, options) {
        if (!homes.has(id)) throw new BudgieError("SESSION_UNUSABLE", `The home of ${id} is gone.`);
        if (options.signal?.aborted) throw new BudgieError("CANCELLED", "The turn was cancelled before its start.");
        const { promise: stopped, resolve: stop } = withResolvers<StopReason>();
        options.signal?.addEventListener("abort", () => stop("cancelled"));
        const writeFile = (name: string, text: string) => void files.set(name, text);
        const run = { session: id, command, options, stopped, writeFile };
        runs.push(run);
        return createProcess(program(run), { stop, stopped });
      },
      readFile: async (name) => files.get(name),
      appendFile: async (name, text) => void files.set(name, (files.get(name) ?? "") + text),
      remove: async () => void homes.delete(id),
    };
  }

  return {
    isolation: "none",
    notices,
    guarded: [],
    capacity: { cpus: 8, memoryBytes: 16 * 2 ** 30 },
    print: async () => "",
    runs,
    homes,
    openSession: async (id) => openSession(id),
    async resumeSession(id) {
      if (!homes.has(id)) throw new BudgieError("SESSION_NOT_FOUND", `The home of ${id} is gone.`);
      return openSession(id);
    },
    listSessions: async () => [...homes.keys()].map((id) => ({ id, created: new Date(), home: id, owner: "own" })),
    collectGarbage: async () => ({ removed: [], kept: [], failed: [] }),
    close: async () => homes.clear(),
  };
}

type Stopping = { readonly stop: (reason: StopReason) => void; readonly stopped: Promise<StopReason> };

/** Creates a process from a program's result: one that throws synchronously did not start, a promise is a running process. */
function createProcess(end: FakeEnd | Promise<FakeEnd>, { stop, stopped }: Stopping): AgentProcess {
  const ended = Promise.resolve(end);
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let unreported = isWatched(end) ? ended.then(({ egress }) => egress) : undefined;
  const exit = ended.then((it): Exit => {
    toReadable(it.stdout)
      .on("error", (error) => stdout.destroy(error))
      .pipe(stdout);
    toReadable(it.stderr).pipe(stderr);
    const isKilled = it.exit?.signal !== undefined;
    return { exitCode: isKilled ? undefined : 0, signal: undefined, reason: undefined, oomKilled: false, ...it.exit };
  });
  return {
    stdin: new PassThrough().end(),
    stdout,
    stderr,
    exit,
    egress() {
      const report = unreported ?? Promise.resolve(undefined);
      unreported = unreported && Promise.resolve(NOTHING);
      return report;
    },
    async stop(reason) {
      stop(reason);
      await Promise.all([stopped, exit]);
    },
  };
}

const NOTHING: EgressReport = { allowed: [], denied: [] };

function isWatched(end: FakeEnd | Promise<FakeEnd>): boolean {
  return "egress" in end && end.egress !== undefined;
}

function toReadable(output: string | Readable | undefined): Readable {
  return typeof output === "object" ? output : Readable.from([Buffer.from(output ?? "")]);
}

// Promise.withResolvers is not in Node 20.
function withResolvers<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
