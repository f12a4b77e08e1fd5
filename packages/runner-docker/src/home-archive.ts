import { posix } from "node:path";
import type { Readable } from "node:stream";
import type Docker from "dockerode";
import { extract, pack, type Header } from "tar-stream";
import { BudgieError } from "@budgie/core";
import { withLimit } from "./api-limit.ts";
import { SANDBOX } from "./container-options.ts";
import { statusOf } from "./docker-errors.ts";
import type { SandboxUser } from "./sandbox-user.ts";

/** A file to write into a session's volumes. */
export type ArchiveFile = {
  /** Below the folder that is written to, such as `.local/share/kiro-cli/data.sqlite3` */
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
};

/** Reads and writes a session's volumes through its holder, trusting nothing that the agent left there. */
export type HomeArchive = {
  /** Reads the first `maxBytes` of a regular file in the home; `undefined` if it is missing or anything else. */
  readFile(name: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Reads the regular files among `names` in a folder of the home; throws `SESSION_UNUSABLE` past `maxBytes` in all. */
  readFiles(folder: string, names: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, Buffer>>;
  /** Writes files into the home, with their folders; throws `SESSION_UNUSABLE` if a parent is not a real folder. */
  writeHome(files: readonly ArchiveFile[]): Promise<void>;
  /** Writes files into `/auth`, which the agent can only read. */
  writeAuth(files: readonly ArchiveFile[]): Promise<void>;
};

/** Opens the volumes of a holder. The user is who the files belong to. */
export function createHomeArchive(holder: Docker.Container, user: SandboxUser): HomeArchive {
  const parents = ["agent", "agent/.kiro", "agent/.local", "agent/.local/share", "agent/.local/share/kiro-cli"];
  return {
    async readFile(name, maxBytes) {
      const path = posix.join(SANDBOX.home, name);
      const [real, plain] = await Promise.all([areRealFolders(holder, [SANDBOX.home]), isFile(holder, path)]);
      if (!real || !plain) return undefined;
      const files = await readArchive(holder, path, { names: new Set([name]), maxBytes, onTooMuch: "cut" });
      return files.get(name);
    },
    async readFiles(folder, names, maxBytes) {
      const path = posix.join(SANDBOX.home, folder);
      if (!(await areRealFolders(holder, parentsOf(path)))) return new Map();
      return readArchive(holder, `${path}/.`, { names: new Set(names), maxBytes, onTooMuch: "throw" });
    },
    async writeHome(files) {
      const needed = [
        ...new Set([...parents, ...files.flatMap(({ path }) => parentsOf(`agent/${path}`).slice(0, -1))]),
      ];
      if (
        !(await areRealFolders(
          holder,
          needed.map((path) => `/home/${path}`),
        ))
      ) {
        throw new BudgieError(
          "SESSION_UNUSABLE",
          `The agent replaced a folder of its home by something else, and budgie does not write through it. Begin a new session.`,
        );
      }
      const archive = toArchive(
        needed,
        files.map((file) => ({ ...file, path: `agent/${file.path}` })),
        user,
      );
      await holder.putArchive(archive, { path: "/home", ...withLimit() });
    },
    async writeAuth(files) {
      await holder.putArchive(toArchive([], files, user), { path: SANDBOX.auth, ...withLimit() });
    },
  };
}

/** `/home/agent/a/b` and its parents below `/home`, outermost first; for `agent/a/b` those below the volume's root. */
function parentsOf(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "");
  const rooted = path.startsWith("/");
  const paths = parts.map((_, index) => (rooted ? "/" : "") + parts.slice(0, index + 1).join("/"));
  return rooted ? paths.slice(1) : paths;
}

// Go's file modes, as the engine reports them.
const MODE_FOLDER = 2 ** 31;
const MODE_NOT_REGULAR = 2 ** 31 + 2 ** 27 + 2 ** 26 + 2 ** 25 + 2 ** 24 + 2 ** 21 + 2 ** 19;

type PathStat = { readonly mode: number };

/** The answer about a path is about that path only if all its parents are real folders too. A missing one is fine. */
async function areRealFolders(holder: Docker.Container, paths: readonly string[]): Promise<boolean> {
  const found = await Promise.all(paths.map((path) => statPath(holder, path)));
  return found.every((stat) => stat === undefined || hasBits(stat.mode, MODE_FOLDER));
}

async function isFile(container: Docker.Container, path: string): Promise<boolean> {
  const found = await statPath(container, path);
  return found !== undefined && !hasBits(found.mode, MODE_NOT_REGULAR);
}

/** Bit 31 is out of reach of JavaScript's own operators. */
function hasBits(mode: number, bits: number): boolean {
  return (BigInt(mode) & BigInt(bits)) !== 0n;
}

async function statPath(container: Docker.Container, path: string): Promise<PathStat | undefined> {
  try {
    const response = (await container.infoArchive({ path, ...withLimit() })) as unknown as {
      readonly headers: Readonly<Record<string, string>>;
    };
    const header = response.headers["x-docker-container-path-stat"] ?? "";
    return JSON.parse(Buffer.from(header, "base64").toString("utf8")) as PathStat;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

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

function toArchive(
  folders: readonly string[],
  files: readonly ArchiveFile[],
  { gid, uid }: SandboxUser,
): Buffer | NodeJS.ReadableStream {
  const archive = pack();
  const owned: Partial<Header> = { uid, gid };
  for (const name of folders) archive.entry({ ...owned, name, type: "directory", mode: 0o700 });
  for (const { content, mode, path } of files) archive.entry({ ...owned, name: path, mode }, content);
  archive.finalize();
  return archive as unknown as NodeJS.ReadableStream;
}
