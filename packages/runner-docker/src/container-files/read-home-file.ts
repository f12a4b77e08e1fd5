import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type Docker from "dockerode";
import { SANDBOX } from "../sandbox/container-options.ts";
import { toOpened } from "../sandbox/mount-sources.ts";
import { openContainerRoot } from "./container-root.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads the first `maxBytes` of a plain file in the home through the process of a running session container. `undefined` where that
 * cannot be done, and where there is no such file: ask the engine.
 */
export async function readHomeFile(
  container: Docker.Container,
  name: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  try {
    await using root = await openContainerRoot(container);
    if (root === undefined) return undefined;
    // The agent may have put a link in place of either; above them is only what budgie and the engine made.
    await using home = await open(root.path + SANDBOX.home, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
    // A pipe would wait for who writes to it.
    await using file = await open(`${toOpened(home)}/${name}`, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    return (await file.stat()).isFile() ? await readStart(file.createReadStream(), maxBytes) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the first `maxBytes` of a source, and leaves the rest. */
export async function readStart(source: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of takeStart(source, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Reads the same start, chunk by chunk. */
export async function* takeStart(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let room = maxBytes;
  for await (const chunk of source) {
    yield chunk.subarray(0, room);
    room -= Math.min(room, chunk.length);
    if (room === 0) break;
  }
}
