import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type Docker from "dockerode";
import { readStart } from "@budgie/sandbox/home";
import { descriptorPath } from "@budgie/sandbox/mounts";
import { SANDBOX } from "@budgie/sandbox/profile";
import { openContainerRoot, type OpenOptions } from "./open-container-root.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads the first `maxBytes` of a regular file in the home through the process of a running session container, and follows no
 * symlink. `undefined` if that is impossible or the file is missing: the caller then asks the engine.
 */
export async function readHomeFile(
  container: Docker.Container,
  path: string,
  { maxBytes, ...options }: OpenOptions & { readonly maxBytes: number },
): Promise<Buffer | undefined> {
  try {
    await using root = await openContainerRoot(container, options);
    if (root === undefined) return undefined;
    // The agent may have replaced either by a symlink. Their parents were created by budgie and the engine.
    await using home = await open(root.path + SANDBOX.home, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
    await using file = await openIn(home, path.split("/"));
    return (await file.stat()).isFile() ? await readStart(file.createReadStream(), maxBytes) : undefined;
  } catch {
    return undefined;
  }
}

async function openIn(folder: FileHandle, [name = "", ...rest]: readonly string[]): Promise<FileHandle> {
  const path = `${descriptorPath(folder)}/${name}`;
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  if (rest.length === 0) return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  await using child = await open(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
  return await openIn(child, rest);
}
