import { constants } from "node:fs";
import { open, readFile, type FileHandle } from "node:fs/promises";
import type Docker from "dockerode";
import { withLimit } from "./api-limit.ts";

/** The file system of a running holder, as its process has it. */
export type HolderRoot = AsyncDisposable & {
  /** Goes before a path in the holder; what follows is up to who uses it, links in it lead anywhere */
  readonly path: string;
};

/**
 * Looks into a running holder past the engine, which needs up to 45 ms for each thing that it is asked. `undefined` where
 * that cannot be done, such as with an engine on another machine.
 */
export async function enterHolder(holder: Docker.Container): Promise<HolderRoot | undefined> {
  const { Id, State } = await holder.inspect(withLimit());
  // Held open, it is this process for good, and no later one of the same number.
  const { O_DIRECTORY, O_RDONLY } = constants;
  const process = await open(`/proc/${State.Pid}`, O_RDONLY | O_DIRECTORY);
  try {
    const path = toOpened(process);
    // On another kernel the number may be anybody's here; a container's own mounts name it.
    if ((await readFile(`${path}/mountinfo`, "utf8")).includes(Id))
      return { path: `${path}/root`, [Symbol.asyncDispose]: () => process.close() };
  } catch (error) {
    await process.close();
    throw error;
  }
  await process.close();
  return undefined;
}

/** The path of what is open, whatever has become of its name. */
export function toOpened({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
