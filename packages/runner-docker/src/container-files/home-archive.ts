import { createReadStream, createWriteStream } from "node:fs";
import { join, posix } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import { extract, pack, type Header, type Pack } from "tar-stream";
import { BudgieError } from "@budgie/core";
import { withLimit } from "../engine/time-limits.ts";
import { SANDBOX } from "../sandbox/container-options.ts";
import { statusOf } from "../engine/docker-errors.ts";
import { openContainerRoot } from "./container-root.ts";
import { foldersOf, hasBits, lookAt, MODE, readPathFacts, toKind, type PathKind } from "./path-stat.ts";
import { readStart, takeStart } from "./read-home-file.ts";
import type { SandboxUser } from "../sandbox/sandbox-user.ts";
import { unpack } from "./put-archive.ts";

/** A file to write into a session's volumes. */
export type ArchiveFile = {
  /** Absolute, below `/home/agent` or `/auth` */
  readonly path: string;
  readonly content: Buffer | HostFile;
  readonly mode: number;
};

/** Content in a file of the host, too large for memory. It must exist until the write ends. */
export type HostFile = { readonly path: string; readonly bytes: number };

type Saving = {
  /** An existing folder of the host */
  readonly to: string;
  /** For all files together */
  readonly maxBytes: number;
};

/**
 * Reads and writes a session's volumes through its session container. The agent may have put links into its home; in the session container they
 * lead to nothing of the host but its proxy socket, read-only: it mounts these volumes and nothing else.
 */
export type HomeArchive = {
  /** Reads the first `maxBytes` of a regular file in the home; `undefined` if it is missing or anything else. */
  readFile(name: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Saves the regular files among `names` to a folder, and returns their names; throws `SESSION_UNUSABLE` past the bound, or for a planted link. */
  saveFiles(folder: string, names: readonly string[], saving: Saving): Promise<ReadonlySet<string>>;
  /** Makes a new home, and writes files into it. Only for volumes that no agent has seen. */
  create(files: readonly ArchiveFile[]): Promise<void>;
  /** Throws `SESSION_UNUSABLE` if one of these mount points is a link in the home, or below one: the engine would follow it. */
  checkMountPoints(paths: readonly string[]): Promise<void>;
  /** Writes files; throws `SESSION_UNUSABLE` if a folder on the way to one is a link or anything else. */
  write(files: readonly ArchiveFile[]): Promise<void>;
};

/** The container that has the volumes, and a way to make a copy of it that never runs. */
type ArchiveContainer = {
  readonly handle: Docker.Container;
  readonly lend: (use: (copy: Docker.Container) => Promise<void>) => Promise<void>;
};

// The agent's own, and where its programs expect to find folders.
const FOLDERS = ["", "/.kiro", "/.local", "/.local/share", "/.local/share/kiro-cli"].map((path) => SANDBOX.home + path);

/** Opens the volumes of a session container. The user is who the files belong to. */
export function createHomeArchive({ handle: container, lend }: ArchiveContainer, user: SandboxUser): HomeArchive {
  // What is unpacked at the root would meet the session container's read-only one, and on Podman go behind the volumes.
  const roots = ["/home/", `${SANDBOX.auth}/`];
  const put = async (into: Docker.Container, files: readonly ArchiveFile[]): Promise<void> => {
    const puts = roots.map(async (path) => {
      const below = { path, folders: FOLDERS.filter((folder) => folder.startsWith(path)), user };
      const content = files.filter((file) => file.path.startsWith(path));
      if (below.folders.length + content.length === 0) return;
      await unpack(() => putFiles(into, content, below), FOLDERS.length);
    });
    // None goes on behind the back of who hears that one has failed.
    const failed = (await Promise.allSettled(puts)).find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
  return {
    readFile: (name, maxBytes) => readFile(container, posix.join(SANDBOX.home, name), maxBytes),
    async saveFiles(folder, names, { maxBytes, to }) {
      const paths = names.map((name) => `${folder}/${name}`);
      await refuseLinks(container, new Set(paths.flatMap(foldersInHome)));
      const facts = await Promise.all(paths.map((path) => readPathFacts(container, path)));
      // Asked first: the agent may have made files of any size.
      if (facts.reduce((sum, fact) => sum + (fact?.size ?? 0), 0) > maxBytes) throw tooLarge(folder, maxBytes);
      const saved = await Promise.all(paths.map((path) => saveFile(container, path, { to, maxBytes })));
      return new Set(names.filter((_, index) => saved[index] === true));
    },
    create: (files) => lend((copy) => put(copy, files)),
    async checkMountPoints(paths) {
      const inHome = paths.filter((path) => path.startsWith("/home/"));
      const folders = new Set(inHome.flatMap(foldersInHome));
      await refusePlanted(container, [...new Set([...folders, ...inHome])], (kind, path) =>
        folders.has(path) ? kind !== "folder" : kind === "link",
      );
    },
    async write(files) {
      await refuseLinks(container, new Set([...FOLDERS, ...files.flatMap(({ path }) => foldersInHome(path))]));
      await put(container, files);
    },
  };
}

/** The folders on the way to a file that the agent could have replaced. */
function foldersInHome(path: string): readonly string[] {
  return foldersOf(path).filter((folder) => folder.startsWith("/home/"));
}

/** The engine's answer about a path is about that path only if all its parents are real folders too. */
function refuseLinks(container: Docker.Container, folders: ReadonlySet<string>): Promise<void> {
  return refusePlanted(container, [...folders], (kind) => kind !== "folder");
}

async function refusePlanted(
  container: Docker.Container,
  paths: readonly string[],
  isPlanted: (kind: PathKind, path: string) => boolean,
): Promise<void> {
  const kinds = (await lookInside(container, paths)) ?? (await askEngine(container, paths));
  const found = kinds.findIndex((kind, index) => typeof kind === "string" && isPlanted(kind, paths[index] ?? ""));
  if (found >= 0) {
    throw new BudgieError(
      "SESSION_UNUSABLE",
      `The agent replaced "${paths[found]}" in its home by something else, and budgie lets nothing go through it. Begin a new session.`,
    );
  }
  const failed = kinds.find((kind) => kind instanceof Error);
  if (failed !== undefined) throw failed;
}

type Look = readonly (PathKind | undefined | Error)[];

/** Past the engine, where the session container runs on this machine. */
async function lookInside(container: Docker.Container, paths: readonly string[]): Promise<Look | undefined> {
  try {
    await using root = await openContainerRoot(container);
    return root === undefined ? undefined : await lookAt(root.path, paths);
  } catch {
    return undefined;
  }
}

/** What is below a file cannot be asked about, but then that file was found. */
async function askEngine(container: Docker.Container, paths: readonly string[]): Promise<Look> {
  return Promise.all(
    paths.map((path) => readPathFacts(container, path).then((facts) => facts && toKind(facts.mode), toError)),
  );
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function readFile(container: Docker.Container, path: string, maxBytes: number): Promise<Buffer | undefined> {
  return readPlain(container, path, (content) => readStart(content, maxBytes));
}

function saveFile(container: Docker.Container, path: string, { maxBytes, to }: Saving): Promise<boolean | undefined> {
  const file = join(to, posix.basename(path));
  return readPlain(container, path, async (content) => {
    await pipeline(takeStart(content, maxBytes), createWriteStream(file, { mode: 0o600 }));
    return true;
  });
}

/** Reads a plain file. Anything else is not fetched, since a folder may be of any size. */
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
      // Podman follows a link, and then names what it leads to.
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
    return (await container.getArchive({ path, ...withLimit(60_000) })) as Readable;
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
  /** Where the archive is unpacked, with a slash at its end */
  readonly path: string;
  readonly folders: readonly string[];
  readonly user: SandboxUser;
};

async function putFiles(into: Docker.Container, files: readonly ArchiveFile[], below: Below): Promise<void> {
  const archive = pack();
  // An unread archive would keep a file open.
  fill(archive, files, below).catch((error: unknown) => archive.destroy(toError(error)));
  try {
    await into.putArchive(archive as unknown as NodeJS.ReadableStream, { path: below.path, ...withLimit() });
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
