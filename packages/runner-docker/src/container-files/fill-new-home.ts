import { constants } from "node:fs";
import { lstat, mkdir, open } from "node:fs/promises";
import type Docker from "dockerode";
import { isFile, listFolders, type ArchiveEntry, type ArchiveFile } from "@budgie/sandbox/home";
import { SANDBOX } from "@budgie/sandbox/profile";
import { openContainerRoot, type OpenOptions } from "./open-container-root.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Writes files and folders into volumes that no agent has used, through the process of their running session container: Docker takes 45 ms
 * to unpack an archive. Resolves to `false` if that is impossible, or if the files would not belong to the sandbox's user; the engine can
 * then unpack all of them over those that were written.
 */
export async function fillNewHome(
  container: Docker.Container,
  entries: readonly ArchiveEntry[],
  options: OpenOptions,
): Promise<boolean> {
  try {
    await using root = await openContainerRoot(container, options);
    if (root === undefined) return false;
    const [, ...folders] = listFolders(entries);
    for (const top of [SANDBOX.home, SANDBOX.auth]) await checkOwn(root.path + top);
    for (const folder of folders) await makeFolder(root.path + folder);
    for (const file of entries.filter(isFile)) await writeNew(root.path + file.path, file);
    return true;
  } catch {
    return false;
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    await checkOwn(path);
  });
}

/** Throws unless a folder belongs to the user and group that own the files that this process creates. */
async function checkOwn(path: string): Promise<void> {
  const facts = await lstat(path);
  if (!facts.isDirectory() || facts.uid !== process.geteuid?.() || facts.gid !== process.getegid?.())
    throw new Error("Files in this folder would belong to somebody else.");
}

async function writeNew(path: string, { content, mode }: ArchiveFile): Promise<void> {
  if (!Buffer.isBuffer(content)) throw new Error("A file of the host may be too large for memory.");
  await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  await file.writeFile(content);
}
