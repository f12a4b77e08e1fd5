import type { Readable } from "node:stream";
import type Docker from "dockerode";
import type { FilledEntry, FoundEntry } from "@budgie/core/copies";
import type { SandboxUser } from "@budgie/sandbox/profile";
import { hasBits, MODE, readPathFacts } from "../container-files/path-facts.ts";
import { API_LIMIT_MS, destroyWhenIdle, withTimeout } from "../engine/with-timeout.ts";
import type { Copier } from "./create-copier.ts";
import { withinFillLimit } from "./within-fill-limit.ts";
import { packCopy } from "./pack-copy.ts";
import { readFirst, unpackCopy } from "./unpack-copy.ts";

export type ArchivePlace = {
  /** Resolves to a container that mounts the copy, and never runs */
  readonly find: () => Promise<Docker.Container>;
  /** The folder in that container, without the "/" before it */
  readonly folder: string;
  readonly user: SandboxUser;
};

export type ArchiveCopier = Copier & {
  /** Reads the entry at a path; `undefined` if it is gone */
  readonly readFile: (path: string) => Promise<FoundEntry | undefined>;
};

/** Creates the access to a copy by the engine's archives, which need no container that runs. */
export function createArchiveCopier({ find, folder, user }: ArchivePlace): ArchiveCopier {
  const readFile = async (path: string) => readFirst(path, await open(await find(), `/${folder}/${path}`));
  return {
    readFile,
    unpack: async (entries, signal) =>
      unpackInto(await find(), entries, { folder, user, signal: withinFillLimit(signal) }),
    async *pack() {
      yield* unpackCopy(await open(await find(), `/${folder}`), { readAgain: readFile });
    },
    async list(paths) {
      const container = await find();
      return Promise.all(paths.map((path) => findKind(container, `/${folder}/${path}`)));
    },
  };
}

type Into = Omit<ArchivePlace, "find"> & { readonly signal: AbortSignal };

/** Unpacks entries at the root, since the engine leaves the owner of the folder itself alone that it unpacks into. */
async function unpackInto(
  container: Docker.Container,
  entries: AsyncIterable<FilledEntry>,
  { folder, signal, user }: Into,
): Promise<void> {
  const archive = packCopy(entries, { folder, user });
  let failure: unknown;
  archive.once("error", (error) => (failure = error));
  try {
    await container.putArchive(archive, { path: "/", abortSignal: signal });
  } catch (error) {
    signal.throwIfAborted();
    throw failure ?? error;
  } finally {
    archive.destroy();
  }
  if (failure !== undefined) throw failure;
}

async function open(container: Docker.Container, path: string): Promise<Readable> {
  // A limit of the request would end the archive too.
  const over = new AbortController();
  const answered = container.getArchive({ path, abortSignal: over.signal }) as Promise<Readable>;
  const archive = await withTimeout(answered, API_LIMIT_MS).catch((error: unknown) => {
    over.abort();
    throw error;
  });
  return destroyWhenIdle(archive);
}

async function findKind(container: Docker.Container, path: string): Promise<"file" | "folder" | "other" | undefined> {
  const facts = await readPathFacts(container, path);
  if (facts === undefined) return undefined;
  if (hasBits(facts.mode, MODE.folder)) return "folder";
  return hasBits(facts.mode, MODE.notPlain) ? "other" : "file";
}
