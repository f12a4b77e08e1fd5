import { posix } from "node:path";
import type { Readable } from "node:stream";
import type Docker from "dockerode";
import { extract, pack, type Header } from "tar-stream";
import { BudgieError } from "@budgie/core";
import { withLimit } from "./api-limit.ts";
import { SANDBOX } from "./container-options.ts";
import { statusOf } from "./docker-errors.ts";
import type { Engine } from "./engine.ts";
import type { SandboxUser } from "./sandbox-user.ts";

/** A file to write into a session's volumes. */
export type ArchiveFile = {
  /** Absolute, below `/home/agent` or `/auth` */
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
};

/**
 * Reads and writes a session's volumes through its holder. The agent may have put links into its home; in the holder they
 * lead to nothing of the host, since it mounts these volumes and nothing else.
 */
export type HomeArchive = {
  /** Reads the first `maxBytes` of a regular file in the home; `undefined` if it is missing or anything else. */
  readFile(name: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Reads the regular files among `names` in a folder; throws `SESSION_UNUSABLE` past `maxBytes` in all. */
  readFiles(folder: string, names: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, Buffer>>;
  /** Makes a new home, and writes files into it. Only for volumes that no agent has seen. */
  create(files: readonly ArchiveFile[]): Promise<void>;
  /** Writes files; throws `SESSION_UNUSABLE` if a folder on the way to one is a link or anything else. */
  write(files: readonly ArchiveFile[]): Promise<void>;
};

// The agent's own, and where its programs expect to find folders.
const FOLDERS = ["", "/.kiro", "/.local", "/.local/share", "/.local/share/kiro-cli"].map((path) => SANDBOX.home + path);

/** Opens the volumes of a holder. The user is who the files belong to. */
export function createHomeArchive(holder: Docker.Container, engine: Engine["name"], user: SandboxUser): HomeArchive {
  // One call costs some 45 ms on Docker 20.10, so it serves both volumes. Podman unpacks behind volumes, not into them.
  const roots = engine === "Podman" ? ["/home/", `${SANDBOX.auth}/`] : ["/"];
  const put = async (folders: readonly string[], files: readonly ArchiveFile[]): Promise<void> => {
    for (const path of roots) {
      const below = { path, folders: folders.filter((folder) => folder.startsWith(path)), user };
      const content = files.filter((file) => file.path.startsWith(path));
      if (below.folders.length + content.length === 0) continue;
      await holder.putArchive(toArchive(content, below), { path, ...withLimit() });
    }
  };
  return {
    async readFile(name, maxBytes) {
      const path = posix.join(SANDBOX.home, name);
      const files = await readArchive(holder, path, { names: new Set([name]), maxBytes, onTooMuch: "cut" });
      return files.get(name);
    },
    async readFiles(folder, names, maxBytes) {
      return readArchive(holder, `${folder}/.`, { names: new Set(names), maxBytes, onTooMuch: "throw" });
    },
    create: (files) => put(FOLDERS, files),
    async write(files) {
      await refuseLinks(holder, new Set([...FOLDERS, ...files.flatMap(({ path }) => foldersOf(path))]));
      await put(FOLDERS, files);
    },
  };
}

/** The folders on the way to a file that the agent could have replaced. */
function foldersOf(path: string): readonly string[] {
  const parts = path.split("/").slice(1, -1);
  return parts
    .map((_, index) => `/${parts.slice(0, index + 1).join("/")}`)
    .filter((folder) => folder.startsWith(SANDBOX.home));
}

/** The engine's answer about a path is about that path only if all its parents are real folders too. */
async function refuseLinks(holder: Docker.Container, folders: ReadonlySet<string>): Promise<void> {
  const modes = await Promise.all([...folders].map(async (path) => ({ path, mode: await readMode(holder, path) })));
  const planted = modes.find(({ mode }) => mode !== undefined && !isFolder(mode));
  if (planted === undefined) return;
  throw new BudgieError(
    "SESSION_UNUSABLE",
    `The agent replaced "${planted.path}" in its home by something else, and budgie does not write through it. Begin a new session.`,
  );
}

/** By bit 31 of Go's file modes, which is out of reach of JavaScript's own operators. */
function isFolder(mode: number): boolean {
  return Math.floor(mode / 2 ** 31) % 2 === 1;
}

async function readMode(holder: Docker.Container, path: string): Promise<number | undefined> {
  try {
    const response = (await holder.infoArchive({ path, ...withLimit() })) as unknown as StatResponse;
    const header = response.headers["x-docker-container-path-stat"] ?? "";
    return (JSON.parse(Buffer.from(header, "base64").toString("utf8")) as { readonly mode: number }).mode;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

type StatResponse = { readonly headers: Readonly<Record<string, string>> };

type Wanted = {
  readonly names: ReadonlySet<string>;
  /** Of all files together */
  readonly maxBytes: number;
  readonly onTooMuch: "cut" | "throw";
};

/** Reads an archive as it comes, and no more of it than is wanted: the agent may have made a file of any size. */
async function readArchive(
  container: Docker.Container,
  path: string,
  { maxBytes, names, onTooMuch }: Wanted,
): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const source = await openArchive(container, path);
  if (source === undefined) return files;
  const entries = source.pipe(extract());
  source.once("error", (error) => entries.destroy(error));
  let room = maxBytes;
  try {
    for await (const entry of entries) {
      const name = entry.header.name.replace(/^\.\//, "");
      if (entry.header.type !== "file" || !names.has(name)) {
        entry.resume();
        continue;
      }
      const chunks: Buffer[] = [];
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        if (chunk.length > room && onTooMuch === "throw") throw tooLarge(name, maxBytes);
        chunks.push(chunk.subarray(0, room));
        room -= Math.min(room, chunk.length);
        if (room === 0) break;
      }
      files.set(name, Buffer.concat(chunks));
      if (room === 0) break;
    }
  } finally {
    source.destroy();
  }
  return files;
}

async function openArchive(container: Docker.Container, path: string): Promise<Readable | undefined> {
  try {
    return (await container.getArchive({ path, ...withLimit(60_000) })) as Readable;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

function tooLarge(name: string, maxBytes: number): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `"${name}" in the session's home is larger than the ${maxBytes / 2 ** 20} MiB that budgie reads. Begin a new session.`,
  );
}

type Below = {
  /** Where the archive is unpacked, with a slash at its end */
  readonly path: string;
  readonly folders: readonly string[];
  readonly user: SandboxUser;
};

function toArchive(files: readonly ArchiveFile[], { folders, path: root, user }: Below): NodeJS.ReadableStream {
  const archive = pack();
  const owned: Partial<Header> = { uid: user.uid, gid: user.gid };
  const nameOf = (path: string): string => path.slice(root.length);
  for (const path of folders) archive.entry({ ...owned, name: nameOf(path), type: "directory", mode: 0o700 });
  for (const { content, mode, path } of files) archive.entry({ ...owned, name: nameOf(path), mode }, content);
  archive.finalize();
  return archive as unknown as NodeJS.ReadableStream;
}
