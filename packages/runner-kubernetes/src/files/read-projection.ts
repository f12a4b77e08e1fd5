import { constants, type Stats } from "node:fs";
import { lstat, open, opendir, readlink, type FileHandle } from "node:fs/promises";
import { posix } from "node:path";
import { BudgieError, isHomePath } from "@budgie/core";
import type { FilledEntry } from "@budgie/core/copies";
import { descriptorPath, movedError, type HeldSource } from "@budgie/sandbox/mounts";

/** The room for all projections of a turn, from which each that is read takes its part. */
export type ProjectionRoom = { files: number; bytes: number };

const MOST_FILES = 2_000;
const MOST_MEBIBYTES = 32;

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
// Without O_NONBLOCK, opening a pipe would wait for a writer.
const FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const isLinux = process.platform === "linux";

/** Returns the room of a turn: what it has more of is no configuration, and would be sent before each turn. */
export function createProjectionRoom(): ProjectionRoom {
  return { files: MOST_FILES, bytes: MOST_MEBIBYTES * 2 ** 20 };
}

/**
 * Reads a file or a folder of the host as entries, by their paths below it, as a read-only mount would show them: links are kept as links, and
 * what is neither a file nor a folder, is on another file system or cannot be read is left out. Throws `CONFIG_INVALID` if it is larger than the room.
 */
export async function readProjection(source: HeldSource, room: ProjectionRoom): Promise<readonly FilledEntry[]> {
  const entries: FilledEntry[] = [];
  await using root = await openSource(source);
  const { dev } = await root.stat();

  async function readAny(file: FileHandle, here: string, path: string): Promise<void> {
    const facts = await file.stat();
    if (facts.isDirectory()) return readFolder(file, here, path);
    if (!facts.isFile()) return;
    const content = await readBytes(file, Math.min(facts.size, room.bytes) + 1);
    const mode = (facts.mode & 0o111) === 0 ? 0o444 : 0o555;
    add({ entry: { path, kind: "file", mode, size: content.length }, content });
  }

  async function readFolder(folder: FileHandle, path: string, at: string): Promise<void> {
    add({ entry: { path: at, kind: "folder", mode: 0o755 } });
    const here = isLinux ? descriptorPath(folder) : path;
    const names: string[] = [];
    for await (const { name } of await opendir(here)) {
      if (names.length > MOST_FILES) throw tooMuchError(source.path);
      names.push(name);
    }
    for (const name of names.toSorted()) await readChild(`${here}/${name}`, posix.join(at, name));
  }

  async function readChild(here: string, path: string): Promise<void> {
    // A name that is not text is not found by what Node makes of it, and one with control characters no agent names.
    const facts = isHomePath(path) ? await lstat(here).catch(() => undefined) : undefined;
    if (facts?.isSymbolicLink() === true) {
      const target = await readlink(here).catch(() => undefined);
      if (target !== undefined) add({ entry: { path, kind: "link", target } });
      return;
    }
    if (facts?.dev !== dev) return;
    const file = await openPlain(here, facts);
    if (file === undefined) return;
    await using _file = file;
    await readAny(file, here, path);
  }

  function add(entry: FilledEntry): void {
    room.files -= 1;
    if (entry.entry.kind === "file") room.bytes -= entry.entry.size;
    if (room.files < 0 || room.bytes < 0) throw tooMuchError(source.path);
    entries.push(entry);
  }

  await readAny(root, source.here, "");
  return entries;
}

/** Reads at most so many bytes: a file may grow meanwhile. */
async function readBytes(file: FileHandle, most: number): Promise<Buffer> {
  const bytes = Buffer.alloc(most);
  let length = 0;
  for (let read = -1; read !== 0 && length < most; length += read) {
    read = (await file.read(bytes, length, most - length)).bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Opens a file or a folder that can be read. Anything else is not even opened, which a device could notice. */
async function openPlain(path: string, facts: Stats): Promise<FileHandle | undefined> {
  if (facts.isDirectory()) return open(path, FOLDER).catch(() => undefined);
  return facts.isFile() ? open(path, FILE).catch(() => undefined) : undefined;
}

/** Opens for reading what is held open as a place only. */
async function openSource({ here, identity, path }: HeldSource): Promise<FileHandle> {
  const file = await open(here, O_RDONLY | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw movedError(path, `cannot be read (${error.code})`);
  });
  const { dev, ino } = await file.stat({ bigint: true });
  if (`${dev}:${ino}` === identity) return file;
  await file.close();
  throw movedError(path);
}

function tooMuchError(path: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `With ${JSON.stringify(path)}, the agent's files in its home are more than the ${MOST_FILES} files or ${MOST_MEBIBYTES} MiB ` +
      `that budgie sends to a Pod before each turn. Remove some, or put them into the sandbox's image.`,
  );
}
