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

/** One process that was started in a fake runner. */
export type FakeRun = {
  readonly session: SessionId;
  readonly command: Command;
  readonly options: StartOptions;
  /** Resolves when the process is asked to end; it need not obey */
  readonly stopped: Promise<StopReason>;
  /** Puts a file into the session's home */
  readonly writeFile: (name: string, text: string) => void;
};

/** What a process said and how it ended; what is left out is silence and exit code 0. */
export type FakeEnd = {
  readonly stdout?: string | Readable;
  readonly stderr?: string;
  readonly exit?: Partial<Exit>;
  /** What it reached and was refused; left out by a program that takes its time too, nobody watched */
  readonly egress?: EgressReport;
};

/** A function in the place of a program; what it throws, `start` rejects with. */
export type FakeProgram = (run: FakeRun) => FakeEnd | Promise<FakeEnd>;

/** A runner without processes, and what became of it. */
export type FakeRunner = Runner & {
  readonly runs: readonly FakeRun[];
  /** The homes that exist, with their files */
  readonly homes: ReadonlyMap<SessionId, ReadonlyMap<string, string>>;
};

/** Creates a runner whose every process is `program`, for tests of order and bookkeeping rather than of processes. */
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
        return toProcess(program(run), { stop, stopped });
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

/** A program that throws at once could not be started; one that takes its time is running. */
function toProcess(end: FakeEnd | Promise<FakeEnd>, { stop, stopped }: Stopping): AgentProcess {
  const ended = Promise.resolve(end);
  const stdout = new PassThrough();
  const stderr = new PassThrough();
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
    egress: isWatched(end) ? ended.then(({ egress = NOTHING }) => egress) : undefined,
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
