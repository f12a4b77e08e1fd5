import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { BudgieError } from "@budgie/core";
import { closeFolder, openChildFolder, pathIn, type FolderHandle } from "@budgie/core/walk";
import { movedError, type HeldMounts } from "@budgie/sandbox/mounts";

/** A file or folder that a sandbox is shown, by its path among those. */
export type ShownEntry =
  | { readonly path: string; readonly content: Buffer; readonly mode: number }
  | { readonly path: string; readonly content: "folder" };

type HeldSource = HeldMounts["workspace"];

/** The most that a sandbox is shown of this machine beside its copy: agents, prompts, certificates, "mounts". */
const MOST = { entries: 5_000, bytes: 16 * 1024 ** 2 };

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Creates a function that reads an open file, or an open folder with all that it holds but symlinks and what is neither file nor folder, as
 * entries below `at`. It never follows a symlink. Throws `WORKSPACE_INVALID` if its sources hold too much in sum, or cannot be read.
 */
export function createSourceReader(most = MOST): (source: HeldSource, at: string) => Promise<readonly ShownEntry[]> {
  const left = { ...most };

  function count(source: HeldSource, bytes: number): void {
    left.entries -= 1;
    left.bytes -= bytes;
    if (left.entries < 0 || left.bytes < 0) throw tooMuch(source, most);
  }

  async function readFile(source: HeldSource, opened: string | Buffer, path: string): Promise<ShownEntry> {
    // The path of a descriptor is a link to what is open.
    await using file = await open(opened, opened === source.here ? O_RDONLY : O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile()) throw movedError(source.path);
    count(source, facts.size);
    const content = await file.readFile();
    // It may have grown meanwhile.
    count(source, Math.max(0, content.length - facts.size));
    return { path, content, mode: facts.mode & 0o777 };
  }

  async function readFolder(source: HeldSource, folder: FolderHandle, path: string): Promise<readonly ShownEntry[]> {
    try {
      count(source, 0);
      const entries: ShownEntry[] = [{ path, content: "folder" }];
      for (const name of (await readdir(folder.at, { encoding: "buffer" })).toSorted((a, b) => a.compare(b))) {
        if (!isUtf8(name)) continue;
        const below = `${path}/${name.toString()}`;
        const facts = await lstat(pathIn(folder, name));
        if (facts.isDirectory())
          entries.push(...(await readFolder(source, await openChildFolder(folder, name), below)));
        else if (facts.isFile()) entries.push(await readFile(source, pathIn(folder, name), below));
      }
      return entries;
    } finally {
      closeFolder(folder);
    }
  }

  async function read(source: HeldSource, at: string): Promise<readonly ShownEntry[]> {
    if (source.kind !== "folder") return [await readFile(source, source.here, at)];
    const held: FolderHandle = { fd: -1, at: Buffer.from(source.here) };
    return readFolder(source, await openChildFolder(held, Buffer.from(".")), at);
  }

  return (source, at) =>
    read(source, at).catch((error: NodeJS.ErrnoException) => {
      throw error.code === undefined || error instanceof BudgieError
        ? error
        : movedError(source.path, `cannot be read (${error.code})`);
    });
}

function tooMuch({ path }: HeldSource, { bytes, entries }: typeof MOST): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" makes what a sandbox is shown beside its copy more than ${entries} entries or ${bytes / 1024 ** 2} MiB, and the engine does not ` +
      `see this machine's files. Show it less, such as by "mounts" of the configuration file.`,
  );
}
