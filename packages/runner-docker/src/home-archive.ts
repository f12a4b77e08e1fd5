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
  /** Reads one regular file of the home; `undefined` if it is missing or anything else. */
  readFile(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Reads the regular files among `names` in a folder of the home. */
  readFiles(folder: string, names: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, Buffer>>;
  /** Writes files into the home, with their folders; throws `SESSION_UNUSABLE` if a parent is not a real folder. */
  writeHome(files: readonly ArchiveFile[]): Promise<void>;
  /** Writes files into `/auth`, which the agent can only read. */
  writeAuth(files: readonly ArchiveFile[]): Promise<void>;
};

/** Opens the volumes of a holder. The user is who the files belong to. */
export function createHomeArchive(holder: Promise<Docker.Container>, user: SandboxUser): HomeArchive {
  const parents = ["agent", "agent/.kiro", "agent/.local", "agent/.local/share", "agent/.local/share/kiro-cli"];
  return {
    async readFile(path, maxBytes) {
      const files = await this.readFiles(posix.dirname(path), [posix.basename(path)], maxBytes);
      return files.get(posix.basename(path));
    },
    async readFiles(folder, names, maxBytes) {
      const container = await holder;
      const base = posix.join(SANDBOX.home, folder);
      if (!(await areRealFolders(container, parentsOf(base)))) return new Map();
      const wanted = names.length === 1 ? posix.join(base, names[0] ?? "") : `${base}/.`;
      if (names.length === 1 && !(await isFileWithin(container, wanted, maxBytes))) return new Map();
      return readArchive(container, wanted, { names: new Set(names), maxBytes });
    },
    async writeHome(files) {
      const container = await holder;
      const needed = [
        ...new Set([...parents, ...files.flatMap(({ path }) => parentsOf(`agent/${path}`).slice(0, -1))]),
      ];
      if (
        !(await areRealFolders(
          container,
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
      await container.putArchive(archive, { path: "/home", ...withLimit() });
    },
    async writeAuth(files) {
      await (await holder).putArchive(toArchive([], files, user), { path: SANDBOX.auth, ...withLimit() });
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

type PathStat = { readonly mode: number; readonly size: number };

/** Asks from the outside in: each answer is about the path itself only if all its parents are real folders. A missing one is fine. */
async function areRealFolders(container: Docker.Container, paths: readonly string[]): Promise<boolean> {
  for (const path of paths) {
    const found = await statPath(container, path);
    if (found !== undefined && !hasBits(found.mode, MODE_FOLDER)) return false;
  }
  return true;
}

async function isFileWithin(container: Docker.Container, path: string, maxBytes: number): Promise<boolean> {
  const found = await statPath(container, path);
  return found !== undefined && !hasBits(found.mode, MODE_NOT_REGULAR) && found.size <= maxBytes;
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

type Wanted = { readonly names: ReadonlySet<string>; readonly maxBytes: number };

async function readArchive(
  container: Docker.Container,
  path: string,
  { maxBytes, names }: Wanted,
): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  let stream: Readable;
  try {
    stream = (await container.getArchive({ path, ...withLimit(60_000) })) as Readable;
  } catch (error) {
    if (statusOf(error) === 404) return files;
    throw error;
  }
  let total = 0;
  const entries = stream.pipe(extract());
  stream.once("error", (error) => entries.destroy(error));
  for await (const entry of entries) {
    const name = entry.header.name.replace(/^\.\//, "");
    const keep = entry.header.type === "file" && names.has(name);
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) {
      if (!keep) continue;
      total += chunk.length;
      if (total > maxBytes) throw tooLarge(name, maxBytes);
      chunks.push(chunk);
    }
    if (keep) files.set(name, Buffer.concat(chunks));
  }
  return files;
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
