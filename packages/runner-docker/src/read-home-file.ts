import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type Docker from "dockerode";
import { withLimit } from "./api-limit.ts";
import { SANDBOX } from "./container-options.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads the first `maxBytes` of a plain file in the home through the process of a running holder, past the engine, which
 * needs some 45 ms to hand one out. `undefined` where that cannot be done, and where there is no such file: ask the engine.
 */
export async function readHomeFile(
  holder: Docker.Container,
  name: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const handles: FileHandle[] = [];
  const enter = async (path: string, flags: number): Promise<FileHandle> => {
    const handle = await open(path, O_RDONLY | O_NOFOLLOW | flags);
    handles.push(handle);
    return handle;
  };
  try {
    const { Id, State } = await holder.inspect(withLimit());
    // Held open, it is this process for good, and no later one of the same number.
    const process = toOpened(await enter(`/proc/${State.Pid}`, O_DIRECTORY));
    if (!(await isIn(Id, await enter(`${process}/mountinfo`, 0)))) return undefined;
    // The agent may have put a link in place of either; above them is only what budgie and the engine made.
    const home = toOpened(await enter(`${process}/root${SANDBOX.home}`, O_DIRECTORY));
    // A pipe would wait for who writes to it.
    const file = await enter(`${home}/${name}`, O_NONBLOCK);
    return (await file.stat()).isFile() ? await readStart(file, maxBytes) : undefined;
  } catch {
    return undefined;
  } finally {
    await Promise.all(handles.map((handle) => handle.close()));
  }
}

function toOpened({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

/** On another kernel the number may be anybody's here; a container's own mounts name it. */
async function isIn(containerId: string, mountinfo: FileHandle): Promise<boolean> {
  return (await mountinfo.readFile("utf8")).includes(containerId);
}

async function readStart(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  while (room > 0) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(room, 65_536)));
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    room -= bytesRead;
  }
  return Buffer.concat(chunks);
}
