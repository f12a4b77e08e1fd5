import { randomUUID } from "node:crypto";
import { PassThrough, Readable, type Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BudgieError } from "@budgie/core";
import type { FilledEntry, FoundEntry } from "@budgie/core/copies";
import { createTail, readBounded } from "@budgie/core/protocol";
import type { PathKind } from "@budgie/sandbox/proc";
import { formatWords, fromRecords, toRecords } from "@budgie/sandbox/records";
import { attach } from "../engine/attach.ts";
import { createContainer } from "../engine/create-container.ts";
import { demultiplex } from "../engine/demultiplex.ts";
import type { Engine } from "../engine/engine.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { API_LIMIT_MS, timeLimit, withTimeout } from "../engine/with-timeout.ts";
import { FORWARDER, toPrintingContainer, type PrintingContainer } from "../sandbox/container-options.ts";
import { withinFillLimit } from "./within-fill-limit.ts";

/** Access to a copy by the copier, a program of the session's image, which needs neither `/proc` nor the engine's archives. */
export type Copier = {
  /** Fills an empty folder. Rejects with the error that ends the entries */
  readonly unpack: (entries: AsyncIterable<FilledEntry>, signal?: AbortSignal) => Promise<void>;
  /** Reads the folder */
  readonly pack: () => AsyncGenerator<FoundEntry>;
  /** Resolves to the kind of each path below the folder, without following a symlink; `undefined` for a missing one */
  readonly list: (paths: readonly string[]) => Promise<readonly (PathKind | "file" | undefined)[]>;
};

export type CopierPlace = {
  readonly engine: Engine;
  /** The beginning of the names of its containers */
  readonly name: string;
  /** The folder in its container */
  readonly folder: string;
  /** Returns its container without its command, which mounts the folder */
  readonly prepare: () => Promise<Omit<PrintingContainer, "command">>;
};

/** Creates the access. Each use runs the copier in a container of its own, without a network. It can lie about its own copy alone. */
export function createCopier({ engine, folder, name, prepare }: CopierPlace): Copier {
  async function start(...words: readonly string[]): Promise<Run> {
    const [verb = "", ...paths] = words;
    const body = toPrintingContainer({ ...(await prepare()), command: [FORWARDER, "copy", verb, folder, ...paths] });
    const container = await createContainer(engine, `${name}-${randomUUID().slice(0, 8)}`, body);
    const remove = () => engine.pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
    try {
      const socket = await attach(engine.endpoint.address, container.id);
      const run = follow(socket, remove);
      await container.start(timeLimit());
      return run;
    } catch (error) {
      await remove();
      throw error;
    }
  }

  return {
    async unpack(entries, given) {
      const signal = withinFillLimit(given);
      await using run = await start("unpack");
      const ended = new AbortController();
      const answered = readWords(run.stdout).finally(() => ended.abort());
      try {
        const over = AbortSignal.any([signal, ended.signal]);
        await pipeline(Readable.from(toRecords(entries), { objectMode: false }), run.socket, {
          end: false,
          signal: over,
        });
      } catch (error) {
        signal.throwIfAborted();
        if (!ended.signal.aborted) throw error;
      }
      if ((await withTimeout(answered, API_LIMIT_MS)) !== "done\n") throw failed("filled", run.words());
    },
    async *pack() {
      await using run = await start("pack");
      try {
        yield* fromRecords(readUntilIdle(run.stdout));
      } catch (error) {
        throw run.words() === "" ? error : failed("read", run.words());
      }
    },
    async list(paths) {
      if (paths.length === 0) return [];
      await using run = await start("list", ...paths);
      const letters = (await withTimeout(readWords(run.stdout), API_LIMIT_MS)).slice(0, -1);
      const kinds = letters.split("").map((letter) => LETTERS[letter]);
      if (letters.length !== paths.length || kinds.some((kind) => kind === undefined))
        throw failed("read", run.words());
      return kinds.map((kind) => (kind === "missing" ? undefined : kind));
    },
  };
}

const LETTERS: Readonly<Record<string, PathKind | "file" | "missing">> = {
  d: "folder",
  f: "file",
  l: "link",
  o: "other",
  "-": "missing",
};

type Run = AsyncDisposable & {
  readonly socket: Duplex;
  readonly stdout: PassThrough;
  /** Returns the end of what it printed to stderr */
  readonly words: () => string;
};

const MOST_SAID = 300;

function follow(socket: Duplex, remove: () => Promise<unknown>): Run {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const words = createTail(MOST_SAID);
  stderr.on("data", (said: Buffer) => words.add(said));
  void demultiplex(socket, { stdout, stderr, dropping: NEVER });
  return {
    socket,
    stdout,
    words: () => formatWords(words.chunks()),
    async [Symbol.asyncDispose]() {
      for (const stream of [socket, stdout, stderr]) stream.destroy();
      await remove();
    },
  };
}

/** Yields what comes. Rejects if nothing does for as long as an answer of the engine may take. */
async function* readUntilIdle(stdout: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const pieces = stdout[Symbol.asyncIterator]();
  for (;;) {
    const next = await withTimeout(pieces.next(), API_LIMIT_MS);
    if (next.done === true) return;
    yield next.value;
  }
}

const NEVER = new AbortController().signal;

async function readWords(stdout: Readable): Promise<string> {
  return (await readBounded(stdout, { heldBytes: 64 * 1024 })).text;
}

function failed(what: "filled" | "read", words: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The copy could not be ${what}${words === "" ? "" : `: the copier said ${JSON.stringify(words)}`}. Ask again.`,
  );
}
