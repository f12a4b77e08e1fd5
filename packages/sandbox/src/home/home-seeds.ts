import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { isAbsolute, posix } from "node:path";
import pLimit from "p-limit";
import { BudgieError, isHomePath, type Command, type HomeFile } from "@budgie/core";
import { isWithin, splitHidden } from "@budgie/core/policy";
import { checkRead } from "@budgie/core/text";
import { SANDBOX } from "../profile/sandbox-paths.ts";
import type { ArchiveEntry, ArchiveFile } from "./home-archive.ts";
import { foldersOf } from "./folders-of.ts";
import { readStart } from "./read-start.ts";

const MOST_FILES = 64;
const MOST_MEBIBYTES = 4;

/** The files that commands bring for a session's home, and the folders in which they mount something. */
export type HomeSeeds = {
  /**
   * Writes the files that are new or have changed since they were written. Serves one command at a time: only the first finds a home in
   * which no agent runs. Rejects with `CONFIG_INVALID` for a file that is missing or too large, or whose path is not in a home.
   */
  fill(command: Seeding, write: WriteEntries): Promise<void>;
  /** Lists empty files in place of the copies of the host's files: an archive cannot delete. */
  toCleared(): readonly ArchiveFile[];
};

type Seeding = Pick<Command, "hidden" | "home" | "projections">;

type WriteEntries = (entries: readonly ArchiveEntry[]) => Promise<void>;

/** Creates the record of a session's files, none of which has been written. */
export function createHomeSeeds(): HomeSeeds {
  const inTurn = pLimit(1);
  const digests = new Map<string, string>();
  const copies = new Set<string>();
  const made = new Set<string>();

  async function fill({ home: files = [], ...command }: Seeding, write: WriteEntries): Promise<void> {
    const folders = listMountFolders(command).filter((folder) => !made.has(folder));
    checkPaths(files, Object.keys(splitHidden(command).ofHome));
    const seeds = (await readAll(files)).filter(({ digest, path }) => digests.get(path) !== digest);
    // Before they are written, since a failed write may have written some.
    for (const { content, path } of files) if (typeof content !== "string") copies.add(toTarget(path));
    await write([
      ...folders.map((path) => ({ path, content: "folder" as const })),
      ...seeds.map(({ content, path }) => ({ path: toTarget(path), content, mode: 0o600 })),
    ]);
    for (const folder of folders) made.add(folder);
    for (const { digest, path } of seeds) digests.set(path, digest);
  }

  return {
    fill: (command, write) => inTurn(() => fill(command, write)),
    toCleared: () => Array.from(copies, (path) => ({ path, content: Buffer.alloc(0), mode: 0o600 })),
  };
}

/** Lists the parents of a command's mounts in the home. The engine would create missing ones as root. */
function listMountFolders({ projections, ...command }: Omit<Seeding, "home">): readonly string[] {
  const mounts = [...projections.flatMap(({ home }) => home ?? []), ...Object.keys(splitHidden(command).ofHome)];
  const parents = mounts.flatMap((path) => foldersOf(posix.join(SANDBOX.home, path)));
  return [...new Set(parents)].filter((path) => path.startsWith(`${SANDBOX.home}/`));
}

/** Throws unless the paths are different files of a home, outside the folders that the command hides. */
function checkPaths(files: readonly HomeFile[], hidden: readonly string[]): void {
  if (files.length > MOST_FILES) {
    throw invalid(`A command brings ${files.length} files for its home, and ${MOST_FILES} are allowed. Remove some.`);
  }
  const bad = files.find(({ path }) => !isHomePath(path));
  if (bad !== undefined) {
    throw invalid(`${JSON.stringify(bad.path)} is not the path of a file in a home, such as ".codex/auth.json".`);
  }
  const lost = files.find(({ path }) => hidden.some((folder) => isWithin(toTarget(path), toTarget(folder))));
  if (lost !== undefined) {
    throw invalid(
      `"${lost.path}" lies in a folder of the home that a sandbox hides. Remove it from the agent's files.`,
    );
  }
  const paths = files.map(({ path }) => toTarget(path));
  const folders = new Set(paths.flatMap(foldersOf));
  const twice = paths.find((path, index) => folders.has(path) || paths.indexOf(path) !== index);
  if (twice !== undefined) throw invalid(`"${twice}" is named twice among the files for one home. Remove one.`);
}

function toTarget(path: string): string {
  return `${SANDBOX.home}/${path}`;
}

type Seed = { readonly path: string; readonly content: Buffer; readonly digest: string };

/** Reads one after the other, so that they take no more memory than is allowed. */
async function readAll(files: readonly HomeFile[]): Promise<readonly Seed[]> {
  const seeds: Seed[] = [];
  let room = MOST_MEBIBYTES * 2 ** 20;
  for (const { content: source, path } of files) {
    const content = typeof source === "string" ? Buffer.from(source) : await readHostFile(source.file, room + 1);
    room -= content.length;
    if (room < 0) {
      const what = typeof source === "string" ? path : source.file;
      throw invalid(`With "${what}", the files for one home have more than ${MOST_MEBIBYTES} MiB. Remove some.`);
    }
    seeds.push({ path, content, digest: createHash("sha256").update(content).digest("hex") });
  }
  return seeds;
}

async function readHostFile(path: string, maxBytes: number): Promise<Buffer> {
  if (!isAbsolute(path)) throw invalid(`"${path}" is not an absolute path of a file for a home.`);
  await using file = await openPlain(path);
  const content = await readStart(file.createReadStream({ autoClose: false }), maxBytes);
  refuseUntrusted(file, path, content);
  return content;
}

/** Throws if an agent may have put the file there: it could be any file of the user's. */
function refuseUntrusted({ fd }: FileHandle, path: string, content: Uint8Array): void {
  try {
    checkRead(fd, path, content);
  } catch (cause) {
    throw invalid(`"${path}", which the agent needs in its home, cannot be used: ${(cause as Error).message}.`);
  }
}

/** Opens one of the user's regular files, following symlinks. */
async function openPlain(path: string): Promise<FileHandle> {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === "ENOENT" ? "does not exist" : `cannot be read (${cause.code})`;
    const message = `"${path}", which the agent needs in its home, ${why}. Log in with its program, or name another file.`;
    throw new BudgieError("CONFIG_INVALID", message, { cause });
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw invalid(`"${path}", which the agent needs in its home, is not a file. Name another one.`);
}

function invalid(message: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", message);
}
