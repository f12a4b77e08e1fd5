import { constants } from "node:fs";
import { open, readFile, type FileHandle } from "node:fs/promises";
import type Docker from "dockerode";
import { withLimit } from "./api-limit.ts";

/** The file system of a running container, as its first process has it. */
export type ContainerRoot = AsyncDisposable & {
  /** Goes before a path in the container; what follows is up to who uses it, links in it lead anywhere */
  readonly path: string;
  /** Whether that process is gone: the kernel lets it go only after all others in the container */
  hasEnded(): Promise<boolean>;
};

/**
 * Looks into a running container past the engine, which needs up to 45 ms for each thing that it is asked. `undefined` where
 * that process is not here to be looked at, such as with an engine on another machine or kernel.
 */
export async function enterContainer(container: Docker.Container): Promise<ContainerRoot | undefined> {
  const { Id, State } = await container.inspect(withLimit());
  const { O_DIRECTORY, O_RDONLY } = constants;
  // Held open, it is this process for good, and no later one of the same number.
  const process = await open(`/proc/${State.Pid}`, O_RDONLY | O_DIRECTORY).catch(() => undefined);
  if (process === undefined) return undefined;
  const path = toOpened(process);
  const read = (name: string): Promise<string> => readFile(`${path}/${name}`, "utf8").catch(() => "");
  const [mounts, status] = await Promise.all([read("mountinfo"), read("status")]);
  // On another kernel the number may be anybody's here. A container's own mounts name it, and so do those of whoever sees
  // the host's; but of these none is the first process of another pid namespace.
  if (mounts.includes(Id) && /^NSpid:\t\d+\t(?:\d+\t)*1$/m.test(status)) {
    return {
      path: `${path}/root`,
      hasEnded: () => isGone(`${path}/stat`),
      [Symbol.asyncDispose]: () => process.close(),
    };
  }
  await process.close();
  return undefined;
}

async function isGone(path: string): Promise<boolean> {
  return readFile(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ESRCH",
  );
}

/** The path of what is open, whatever has become of its name. */
export function toOpened({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
