import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, pack, type Header, type Pack } from "tar-stream";
import { BudgieError } from "@budgie/core";
import { SANDBOX } from "./container-options.ts";
import { DATABASE } from "./kiro-login.ts";
import { clearSessionDatabase, COMPANIONS } from "./session-database.ts";

export type HomePacking = {
  /** What an engine makes of `/home` */
  readonly archive: Readable;
  readonly to: Writable;
  /** A private folder of the host for copies that live some milliseconds */
  readonly scratchDir: string;
  readonly signal: AbortSignal;
};

const FILE = `${SANDBOX.home.slice(1)}/.local/share/kiro-cli/${DATABASE}`;
// A long conversation may be tens of megabytes.
const LARGEST_DATABASE_BYTES = 256 * 1024 * 1024;

/** Writes a home's archive on, entry by entry, with Kiro's database freed of the login, and answers with what was left out. */
export async function packHome({ archive, scratchDir, signal, to }: HomePacking): Promise<readonly string[]> {
  const packed = pack();
  const writing = pipeline(toNode<Readable>(packed), to, { signal });
  const copying = copy(archive, packed, scratchDir);
  // Whichever fails ends the other, and says why.
  copying.catch((error: unknown) => packed.destroy(error instanceof Error ? error : new Error(String(error))));
  writing.catch(() => archive.destroy());
  const [copied, written] = await Promise.allSettled([copying, writing]);
  if (written.status === "rejected") throw written.reason;
  if (copied.status === "rejected") throw copied.reason;
  return copied.value;
}

async function copy(archive: Readable, packed: Pack, scratchDir: string): Promise<readonly string[]> {
  const entries = archive.pipe(extract());
  archive.once("error", (error) => entries.destroy(error));
  let isWhole = false;
  archive.once("end", () => (isWhole = true));
  archive.once("close", () => {
    if (!isWhole) entries.destroy(endedEarly());
  });
  const database = new Map<string, Buffer>();
  const leftOut: string[] = [];
  let header: Header | undefined;
  for await (const entry of entries) {
    const { name } = entry.header;
    if (!isDatabase(entry.header)) await pass(entry, packed);
    else if (name.startsWith(FILE) && entry.header.size <= LARGEST_DATABASE_BYTES) {
      if (name === FILE) header = entry.header;
      database.set(name.slice(FILE.length), await readAll(entry));
    } else {
      toNode<Readable>(entry).resume();
      leftOut.push(`"${name}": it may hold a login.`);
    }
  }
  if (header !== undefined) leftOut.push(...(await addDatabase(packed, { header, files: database, scratchDir })));
  packed.finalize();
  return leftOut;
}

function endedEarly(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The engine's archive of the home ended early, as when the session is removed meanwhile. Try again.",
  );
}

type Entry = { readonly header: Header };

const NAMES: ReadonlySet<string> = new Set([DATABASE, ...COMPANIONS.map((ending) => DATABASE + ending)]);

/** A database of Kiro's, wherever the agent may have moved it, and other names of one. */
function isDatabase({ linkname, name, type }: Header): boolean {
  if (type === "link") return NAMES.has(toBase(name)) || NAMES.has(toBase(linkname));
  return type === "file" && NAMES.has(toBase(name));
}

function toBase(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** As it is: a link is written as a link, and never followed. */
async function pass(entry: Entry, packed: Pack): Promise<void> {
  const target = packed.entry(entry.header);
  await pipeline(toNode<Readable>(entry), toNode<Writable>(target));
}

/** tar-stream's streams are Node's in all but their types. */
function toNode<T extends Readable | Writable>(stream: unknown): T {
  return stream as T;
}

async function readAll(entry: Entry): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of toNode<Readable>(entry)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

type FoundDatabase = {
  readonly header: Header;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly scratchDir: string;
};

async function addDatabase(packed: Pack, { files, header, scratchDir }: FoundDatabase): Promise<readonly string[]> {
  try {
    const content = await clearSessionDatabase(files, scratchDir);
    packed.entry({ ...header, size: content.length }, content);
    return [`The login, which was in "${FILE}".`];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [`"${FILE}", with the conversation: the login cannot be taken out of it (${reason}).`];
  }
}
