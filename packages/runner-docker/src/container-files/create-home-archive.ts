import { createReadStream, createWriteStream } from "node:fs";
import { join, posix } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import { extract, pack, type Header, type Pack } from "tar-stream";
import { BudgieError } from "@budgie/core";
import {
  foldersInHome,
  isFile,
  listFolders,
  type ArchiveEntry,
  type ArchiveFile,
  type HomeArchive,
  type Saving,
  readStart,
  takeStart,
} from "@budgie/sandbox/home";
import { SANDBOX, type SandboxUser } from "@budgie/sandbox/profile";
import { areFolders, refuseLinks, refusePlanted, type CheckedContainer } from "./refuse-links.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { statusOf } from "../engine/to-budgie-error.ts";
import type { OpenOptions } from "./open-container-root.ts";
import { fillNewHome } from "./fill-new-home.ts";
import { hasBits, MODE, readPathFacts } from "./path-facts.ts";
import { unpack } from "./unpack.ts";

/** The container that mounts the volumes. */
type ArchiveContainer = CheckedContainer & {
  /** Passes it to `use` if it runs, and otherwise a copy that never runs */
  readonly lend: (use: (copy: Docker.Container) => Promise<void>) => Promise<void>;
} & Pick<OpenOptions, "lastRun">;

/** Opens the volumes of a session container. New files belong to `user`. */
export function createHomeArchive(mounting: ArchiveContainer, user: SandboxUser): HomeArchive {
  const { handle: container, lastRun, lend, openRoot } = mounting;
  // Unpacked at the root, an archive would meet the container's read-only file system, and on Podman end up beneath the volumes.
  const roots = ["/home/", `${SANDBOX.auth}/`];
  const put = async (into: Docker.Container, entries: readonly ArchiveEntry[]): Promise<void> => {
    const all = listFolders(entries);
    const puts = roots.map(async (path) => {
      const content = entries.filter(isFile).filter((file) => file.path.startsWith(path));
      const folders = all.filter((folder) => folder.startsWith(path));
      if (folders.length + content.length === 0) return;
      await unpack(() => putFiles(into, content, { path, folders, user }), folders.length);
    });
    // When the caller gets an error, no other write is still running.
    const failed = (await Promise.allSettled(puts)).find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
  return {
    readFile: (path, maxBytes) => readFile(mounting, `${SANDBOX.home}/${path}`, maxBytes),
    async saveFiles(folder, names, { maxBytes, to }) {
      const paths = names.map((name) => `${folder}/${name}`);
      await refuseLinks({ handle: container, openRoot }, new Set(paths.flatMap(foldersInHome)));
      const facts = await Promise.all(paths.map((path) => readPathFacts(container, path)));
      // Checked before the transfer: the agent may have created files of any size.
      if (facts.reduce((sum, fact) => sum + (fact?.size ?? 0), 0) > maxBytes) throw tooLarge(folder, maxBytes);
      const saved = await Promise.all(paths.map((path) => saveFile(container, path, { to, maxBytes })));
      return new Set(names.filter((_, index) => saved[index] === true));
    },
    async create(entries) {
      if (!(await fillNewHome(container, entries, { openRoot, lastRun }))) await lend((copy) => put(copy, entries));
    },
    async checkMountPoints(paths) {
      const inHome = paths.filter((path) => path.startsWith("/home/"));
      const folders = new Set(inHome.flatMap(foldersInHome));
      await refusePlanted({ handle: container, openRoot }, [...new Set([...folders, ...inHome])], (kind, path) =>
        folders.has(path) ? kind !== "folder" : kind === "link",
      );
    },
    async write(entries) {
      const folders = listFolders(entries);
      // For a file directly in the home, the container is not worth starting.
      await refuseLinks(folders.length > 1 ? mounting : { handle: container, openRoot }, new Set(folders));
      await put(container, entries);
    },
  };
}

async function readFile(mounting: CheckedContainer, path: string, maxBytes: number): Promise<Buffer | undefined> {
  const folders = foldersInHome(path);
  // A file directly in the home needs no further request.
  if (folders.length > 1 && !(await areFolders(mounting, folders))) return undefined;
  return readPlain(mounting.handle, path, (content) => readStart(content, maxBytes));
}

function saveFile(container: Docker.Container, path: string, { maxBytes, to }: Saving): Promise<boolean | undefined> {
  const file = join(to, posix.basename(path));
  return readPlain(container, path, async (content) => {
    await pipeline(takeStart(content, maxBytes), createWriteStream(file, { mode: 0o600 }));
    return true;
  });
}

/** Reads a regular file. Nothing else is fetched, since a folder may have any size. */
async function readPlain<T>(
  container: Docker.Container,
  path: string,
  read: (content: AsyncIterable<Buffer>) => Promise<T>,
): Promise<T | undefined> {
  const facts = await readPathFacts(container, path);
  if (facts === undefined || hasBits(facts.mode, MODE.notPlain)) return undefined;
  const source = await openArchive(container, path);
  if (source === undefined) return undefined;
  const entries = source.pipe(extract());
  source.once("error", (error) => entries.destroy(error));
  try {
    for await (const entry of entries) {
      // Podman follows a symlink, and then names its target.
      const isAsked = posix.basename(entry.header.name) === posix.basename(path);
      if (isAsked && entry.header.type === "file") {
        return await read(entry as unknown as AsyncIterable<Buffer>);
      }
      entry.resume();
    }
    return undefined;
  } finally {
    source.destroy();
  }
}

async function openArchive(container: Docker.Container, path: string): Promise<Readable | undefined> {
  try {
    return (await container.getArchive({ path, ...timeLimit(60_000) })) as Readable;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

function tooLarge(folder: string, maxBytes: number): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The database in "${folder}" is larger than the ${maxBytes / 2 ** 20} MiB that budgie reads. Begin a new session.`,
  );
}

type Below = {
  /** The folder in which the archive is unpacked, with a slash at its end */
  readonly path: string;
  readonly folders: readonly string[];
  readonly user: SandboxUser;
};

async function putFiles(into: Docker.Container, files: readonly ArchiveFile[], below: Below): Promise<void> {
  const archive = pack();
  // An archive that is not read to its end would keep a file open.
  fill(archive, files, below).catch((error: unknown) => archive.destroy(error as Error));
  try {
    await into.putArchive(archive as unknown as NodeJS.ReadableStream, { path: below.path, ...timeLimit() });
  } finally {
    archive.destroy();
  }
}

async function fill(archive: Pack, files: readonly ArchiveFile[], { folders, path: root, user }: Below): Promise<void> {
  const owned: Partial<Header> = { uid: user.uid, gid: user.gid };
  const nameOf = (path: string): string => path.slice(root.length);
  for (const path of folders) archive.entry({ ...owned, name: nameOf(path), type: "directory", mode: 0o700 });
  for (const { content, mode, path } of files) {
    const header = { ...owned, name: nameOf(path), mode };
    if (Buffer.isBuffer(content)) archive.entry(header, content);
    else {
      const entry = archive.entry({ ...header, size: content.bytes });
      await pipeline(createReadStream(content.path), entry as unknown as Writable);
    }
  }
  archive.finalize();
}
