import { createReadStream } from "node:fs";
import { open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { FilledEntry } from "@budgie/core/copies";
import { isFile, type ArchiveEntry, type HomeArchive } from "@budgie/sandbox/home";
import { SANDBOX } from "@budgie/sandbox/profile";
import type { Clock, Wire } from "../wire/index.ts";
import { readPodFile, type PodFile, type PodReading } from "./read-pod-file.ts";
import { sendEntries } from "./send-entries.ts";

const VOLUMES = ["home", "auth"] as const;

/** Opens a session's home and its `/auth` in a Pod, over the wire that is its present one at each call. */
export function createPodHome(wire: () => Promise<Wire>, clock?: Clock): HomeArchive {
  async function write(entries: readonly ArchiveEntry[]): Promise<void> {
    const parts = VOLUMES.map((volume) => ({ volume, entries: entries.flatMap((entry) => toFilled(volume, entry)) }));
    const filled = parts.filter((part) => part.entries.length > 0);
    if (filled.length === 0) return;
    const live = await wire();
    const sent = filled.map(({ entries: some, volume }) =>
      sendEntries(
        { wire: live, clock, request: { purpose: "file", act: "write", volume } },
        { entries: openEach(some) },
      ),
    );
    // When the caller gets an error, no other write is still running.
    const failed = (await Promise.allSettled(sent)).find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  return {
    async readFile(path, maxBytes) {
      const reading = { wire: await wire(), clock, path, mostBytes: maxBytes };
      const file = await readPodFile(reading, async (content) => {
        const pieces: Buffer[] = [];
        for await (const piece of content) pieces.push(piece);
        return Buffer.concat(pieces);
      });
      return "content" in file ? file.content : undefined;
    },
    async saveFiles(folder, names, { maxBytes, to }) {
      const live = await wire();
      const saved = new Set<string>();
      let room = maxBytes;
      try {
        for (const name of names) {
          const path = `${toBelow("home", folder)}/${name}`;
          // One byte more than fits tells that there is more.
          const file = await saveFile({ wire: live, clock, path, mostBytes: room + 1 }, join(to, name));
          if (file.kind === "beyond") throw plantedError(folder);
          if (!("content" in file)) continue;
          saved.add(name);
          room -= file.content;
          if (room < 0) throw tooLargeError(folder, maxBytes);
        }
        return saved;
      } catch (error) {
        for (const name of saved) await rm(join(to, name), { force: true });
        throw error;
      }
    },
    create: write,
    write,
    // Nothing is mounted into a running Pod: covers are files, and none is written through a link.
    checkMountPoints: () => Promise.resolve(),
  };
}

/** Saves a new file, and resolves to its length. Nothing is left of one that is none, or fails. */
async function saveFile(reading: PodReading, to: string): Promise<PodFile<number>> {
  await using saved = await open(to, "wx", 0o600);
  let isWhole = false;
  try {
    const file = await readPodFile(reading, async (content) => {
      await writeFile(saved, content);
      return (await saved.stat()).size;
    });
    isWhole = "content" in file;
    return file;
  } finally {
    if (!isWhole) await rm(to, { force: true });
  }
}

type Unopened = Omit<FilledEntry, "content"> & { readonly content?: Buffer | string };

/** Returns an entry as one of a volume; empty if it belongs to another one. */
function toFilled(volume: (typeof VOLUMES)[number], entry: ArchiveEntry): readonly Unopened[] {
  if (!entry.path.startsWith(`${SANDBOX[volume]}/`)) return [];
  const path = toBelow(volume, entry.path);
  if (!isFile(entry)) return [{ entry: { path, kind: "folder", mode: 0o700 } }];
  const { content, mode } = entry;
  return Buffer.isBuffer(content)
    ? [{ entry: { path, kind: "file", mode, size: content.length }, content }]
    : [{ entry: { path, kind: "file", mode, size: content.bytes }, content: content.path }];
}

/** Opens the files of the host, each when it is sent. */
async function* openEach(entries: readonly Unopened[]): AsyncGenerator<FilledEntry> {
  for (const { content, entry } of entries)
    yield { entry, content: typeof content === "string" ? createReadStream(content) : content };
}

function toBelow(volume: (typeof VOLUMES)[number], path: string): string {
  return path.slice(SANDBOX[volume].length + 1);
}

function plantedError(folder: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The agent replaced "${folder}", or a folder on the way to it, by something else, and budgie reads nothing through it. Begin a new session.`,
  );
}

function tooLargeError(folder: string, maxBytes: number): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The files in "${folder}" are larger than the ${maxBytes / 2 ** 20} MiB that budgie reads. Begin a new session.`,
  );
}
