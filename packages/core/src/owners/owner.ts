import { randomUUID } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { basename, dirname, join } from "node:path";
import { BudgieError } from "../errors.ts";
import { formatOption } from "../option-name.ts";
import { readHostId } from "./read-host-id.ts";
import { answerAsker, type OwnerAnswer } from "./ask-owner.ts";
import { findProcessState, readOwnProcess } from "./process-state.ts";
import { type Isolation, type OwnerProcess, type OwnerRecord, parseOwnerRecord } from "./owner-record.ts";
import { judgeOwner, type LockState, type OwnerState } from "./owner-state.ts";

/** This process as an owner of sessions. */
export type Owner = {
  readonly record: OwnerRecord;
  /** Takes the lock, unless it is held already. Nothing is written before the first call. */
  hold(): Promise<void>;
  /** Judges an owner by its record. A record from labels is not trusted, because anyone may have written it. */
  stateOf(record: OwnerRecord, place?: RecordPlace): Promise<OwnerState>;
  /** Lists the owners with a lock in this state directory that may have sessions of this isolation. */
  listRecords(isolation: Isolation): readonly OwnerRecord[];
  /** Removes the lock of a dead owner. Removes only a socket beside this owner's own, because anyone may have written the record. */
  clear(record: OwnerRecord): Promise<void>;
  /** Sets the answer to requests that arrive through the lock; without one, connections are closed. */
  answer(requests: OwnerAnswer): void;
  release(): Promise<void>;
};

/** The place where a record was found. */
export type RecordPlace = "labels" | "state-directory";

export type OwnerOptions = {
  readonly stateDir: string;
  /** The isolation of all sessions of this owner; default any */
  readonly isolation?: Isolation | undefined;
  /** Default: this process */
  readonly process?: OwnerProcess | undefined;
};

// Further connections are accepted and closed, so that the owner still counts as alive.
const MOST_CONNECTIONS = 256;
// The size of sun_path with the final NUL is 104 bytes on macOS, and 108 on Linux.
const LONGEST_SOCKET_PATH = 103;

/**
 * Creates this process's identity as an owner. Its lock is a listening unix socket in `stateDir`: the kernel frees it
 * when the process dies, however it dies, and it needs neither pids nor native code (ADR 0003).
 */
export function createOwner({ isolation, stateDir, process = readOwnProcess() }: OwnerOptions): Owner {
  const instance = randomUUID();
  const folder = join(stateDir, "owners");
  const lock = join(folder, `${instance.slice(0, 8)}${instance.slice(24)}`);
  const host = readHostId();
  const record: OwnerRecord = { instance, host, lock, ...(process === undefined ? {} : { process }) };
  const judge = { instance, host, process: readOwnProcess() };
  let server: Promise<Server> | undefined;
  let answer: OwnerAnswer | undefined;
  const sockets = new Set<Socket>();
  const onConnection = (socket: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    answerAsker(socket, answer);
  };

  async function stateOf(other: OwnerRecord, place: RecordPlace = "labels"): Promise<OwnerState> {
    const isRecordedHere = place === "state-directory" && dirname(other.lock) === folder;
    return judgeOwner(other, judge, { lock: await findLockState(other.lock), findProcessState, isRecordedHere });
  }

  return {
    record,
    async hold() {
      server ??= takeLock(record, isolation, onConnection).catch((error: unknown) => {
        server = undefined;
        throw unusable(folder, error);
      });
      await server;
    },
    stateOf,
    listRecords: (isolation) => listRecords(folder, isolation),
    async clear(other) {
      if (dirname(other.lock) !== folder || (await stateOf(other, "state-directory")) !== "dead") return;
      if (lstatSync(other.lock, { throwIfNoEntry: false })?.isSocket() === true) rmSync(other.lock, { force: true });
      rmSync(recordFile(other), { force: true });
    },
    answer: (requests) => void (answer = requests),
    async release() {
      const held = await server?.catch(() => undefined);
      server = undefined;
      if (held === undefined) return;
      await new Promise((resolve) => {
        held.close(resolve);
        for (const socket of sockets) socket.destroy();
      });
      rmSync(lock, { force: true });
      rmSync(recordFile(record), { force: true });
    },
  };
}

/** Writes the record before the lock, because only the record leads to the lock and to the owner's sessions. */
async function takeLock(
  record: OwnerRecord,
  isolation: Isolation | undefined,
  onConnection: (socket: Socket) => void,
): Promise<Server> {
  const folder = dirname(record.lock);
  // Node would truncate the path, and listen at another one.
  if (Buffer.byteLength(record.lock) > LONGEST_SOCKET_PATH) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The state directory "${dirname(folder)}" is too long for a socket in it. Choose a shorter one with ${formatOption("stateDir")}.`,
    );
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  writeRecord(record, isolation);
  try {
    return await listen(record.lock, onConnection);
  } catch (error) {
    rmSync(recordFile(record), { force: true });
    throw error;
  }
}

const SUFFIX = ".json";

function recordFile({ lock }: OwnerRecord): string {
  return `${lock}${SUFFIX}`;
}

/** Writes the record atomically, because another budgie may read it at any time. */
function writeRecord(record: OwnerRecord, isolation: Isolation | undefined): void {
  const file = recordFile(record);
  writeFileSync(`${file}.draft`, JSON.stringify({ isolation, owner: record }), { mode: 0o600 });
  renameSync(`${file}.draft`, file);
}

function listRecords(folder: string, isolation: Isolation): readonly OwnerRecord[] {
  return listNames(folder).flatMap((name) => {
    if (!name.endsWith(SUFFIX)) return [];
    const { isolation: found = isolation, owner } = readJson(join(folder, name));
    const record = parseOwnerRecord(owner);
    return found === isolation && record?.lock === join(folder, basename(name, SUFFIX)) ? [record] : [];
  });
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Reads a JSON file; a file that was just removed, or that is malformed, has no fields. */
function readJson(path: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(readFileSync(path, "utf8"))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

async function listen(lock: string, onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer(onConnection);
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(lock, resolve);
  });
  // The lock must not keep the process alive.
  server.unref();
  return server;
}

function unusable(folder: string, error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (error instanceof BudgieError || code === undefined) return error;
  return new BudgieError(
    "STATE_UNUSABLE",
    `Cannot keep a lock in "${folder}" (${code}). Make it writable, or choose another place with ${formatOption("stateDir")}.`,
    { cause: error },
  );
}

/** Connects to a lock. Only a refused connection and a missing file show that no process listens. */
function findLockState(lock: string): Promise<LockState> {
  return new Promise((resolve) => {
    const socket = connect({ path: lock });
    socket.once("connect", () => {
      socket.destroy();
      resolve("held");
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => {
      resolve(code === "ECONNREFUSED" ? "refused" : code === "ENOENT" ? "missing" : "unclear");
    });
  });
}
