import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type Docker from "dockerode";
import { SANDBOX } from "../sandbox/container-options.ts";
import { toOpened } from "../sandbox/mount-sources.ts";
import { openContainerRoot } from "./container-root.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads the first `maxBytes` of a regular file in the home through the process of a running session container. `undefined` if
 * that is impossible or the file is missing: the caller then asks the engine.
 */
export async function readHomeFile(
  container: Docker.Container,
  name: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  try {
    await using root = await openContainerRoot(container);
    if (root === undefined) return undefined;
    // The agent may have replaced either by a symlink. Their parents were created by budgie and the engine.
    await using home = await open(root.path + SANDBOX.home, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    await using file = await open(`${toOpened(home)}/${name}`, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    return (await file.stat()).isFile() ? await readStart(file.createReadStream(), maxBytes) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the first `maxBytes` of a source, and ignores the rest. */
export async function readStart(source: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of takeStart(source, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Yields the first `maxBytes` of a source, chunk by chunk. */
export async function* takeStart(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let room = maxBytes;
  for await (const chunk of source) {
    yield chunk.subarray(0, room);
    room -= Math.min(room, chunk.length);
    if (room === 0) break;
  }
}
