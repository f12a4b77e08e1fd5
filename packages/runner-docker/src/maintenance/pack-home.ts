import { createReadStream, createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pack, type Header, type Pack } from "tar-stream";
import { BudgieError } from "@budgie/core";
import { createOmissions, type Omissions } from "@budgie/core/text";
import {
  COPY_FILES,
  copySessionDatabase,
  COMPANIONS,
  DATABASE,
  LARGEST_DATABASE_BYTES,
  createScratchFolder,
} from "@budgie/sandbox/login";
import { SANDBOX } from "@budgie/sandbox/profile";
import { readTar } from "../container-files/read-tar.ts";

export type HomePacking = {
  /** The engine's archive of `/home` */
  readonly archive: Readable;
  readonly to: Writable;
  /** A private folder of the host for a copy of the database until the end */
  readonly scratchDir: string;
  readonly signal: AbortSignal;
  /** The paths below the home that may hold logins of other programs; default none */
  readonly logins?: readonly string[] | undefined;
  /** Limit of all files together; the rest is omitted, since a sparse file may claim any size. Default: 10 GiB */
  readonly maxBytes?: number;
};

const FILE = `${SANDBOX.home.slice(1)}/.local/share/kiro-cli/${DATABASE}`;
const MAX_BYTES = 10 * 1024 ** 3;

/** Copies a home's archive entry by entry, removes the login from Kiro's database, and returns what was omitted. */
export async function packHome(packing: HomePacking): Promise<readonly string[]> {
  const { archive, signal, to } = packing;
  const packed = pack();
  const writing = pipeline(toNode<Readable>(packed), to, { signal });
  const copying = copy(packing, packed);
  // The one that fails ends the other, with its reason.
  copying.catch((error: unknown) => packed.destroy(error instanceof Error ? error : new Error(String(error))));
  writing.catch(() => archive.destroy());
  const [copied, written] = await Promise.allSettled([copying, writing]);
  if (written.status === "rejected") throw written.reason;
  if (copied.status === "rejected") throw copied.reason;
  return copied.value;
}

async function copy({ archive, logins = [], maxBytes = MAX_BYTES, scratchDir, signal }: HomePacking, packed: Pack) {
  const names = new Set(logins.map((path) => `${SANDBOX.home.slice(1)}/${path}`));
  const leftOut = createOmissions();
  let roomBytes = maxBytes;
  try {
    await using folder = createScratchFolder(scratchDir);
    const database: FoundDatabase = { folder: folder.path, header: undefined, roomBytes: LARGEST_DATABASE_BYTES };
    for await (const entry of readTar(archive, endedEarly)) {
      const { name, size } = entry.header;
      if (isLogin(entry.header, names)) {
        skip(entry);
        leftOut.add(`"${entry.header.name}": it may hold a login.`);
      } else if (isDatabase(entry.header)) await takeDatabase(entry, database, leftOut);
      else if (size > roomBytes) {
        // Skipping entries takes as long as writing them, so it ends here, possibly before the database's companions.
        database.header = undefined;
        leftOut.add(`"${name}", and all that comes after it: the files have more than ${maxBytes / 2 ** 30} GiB.`);
        break;
      } else {
        roomBytes -= size;
        await pass(entry, packed);
      }
    }
    if (database.header !== undefined) leftOut.add(await addDatabase(packed, database, signal));
  } finally {
    archive.destroy();
  }
  packed.finalize();
  return leftOut.list();
}

function endedEarly(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The engine's archive of the home ended early, as when the session is removed meanwhile. Try again.",
  );
}

type Entry = { readonly header: Header };

/** Kiro's database and its companions in a scratch folder, as far as they were read. */
type FoundDatabase = {
  readonly folder: string;
  header: Header | undefined;
  /** Room for further files */
  roomBytes: number;
};

/** Saves an entry of Kiro's database to the scratch folder, and omits such files elsewhere: an agent may have created any number. */
async function takeDatabase(entry: Entry, database: FoundDatabase, leftOut: Omissions): Promise<void> {
  const { name, size, type } = entry.header;
  const ending = ["", ...COMPANIONS].find((candidate) => name === FILE + candidate);
  if (ending === undefined || type !== "file" || size > database.roomBytes) {
    skip(entry);
    return leftOut.add(`"${name}": it may hold a login.`);
  }
  database.roomBytes -= size;
  if (ending === "") database.header = entry.header;
  const path = join(database.folder, COPY_FILES.session + ending);
  await pipeline(toNode<Readable>(entry), createWriteStream(path, { mode: 0o600 }));
}

function skip(entry: Entry): void {
  toNode<Readable>(entry).resume();
}

const NAMES: ReadonlySet<string> = new Set([DATABASE, ...COMPANIONS.map((ending) => DATABASE + ending)]);

/** Returns true if an entry is a database of Kiro's at any path, or a hard link to one. */
function isDatabase({ linkname, name, type }: Header): boolean {
  if (type === "link") return NAMES.has(baseName(name)) || NAMES.has(baseName(linkname));
  return type === "file" && NAMES.has(baseName(name));
}

/** Returns true if an entry is one of these files, or a hard link to one. */
function isLogin({ linkname, name, type }: Header, names: ReadonlySet<string>): boolean {
  return (
    (type === "file" && names.has(name)) || (type === "link" && [name, linkname ?? ""].some((one) => names.has(one)))
  );
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Copies an entry unchanged: a symlink stays a symlink. */
async function pass(entry: Entry, packed: Pack): Promise<void> {
  const target = packed.entry(entry.header);
  await pipeline(toNode<Readable>(entry), toNode<Writable>(target));
}

/** Casts a stream of tar-stream, which differs from Node's only in its type. */
function toNode<T extends Readable | Writable>(stream: unknown): T {
  return stream as T;
}

async function addDatabase(packed: Pack, { folder, header }: FoundDatabase, signal: AbortSignal): Promise<string> {
  let path: string;
  try {
    path = await copySessionDatabase(folder, signal);
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    return `"${FILE}", with the conversation: the login cannot be taken out of it (${reason}).`;
  }
  const target = packed.entry({ ...header, name: FILE, size: (await stat(path)).size });
  await pipeline(createReadStream(path), toNode<Writable>(target));
  return `The login, which was in "${FILE}".`;
}
