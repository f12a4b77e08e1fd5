import { toOpened } from "../sandbox/mount-sources.ts";
import { constants } from "node:fs";
import { open, readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { withLimit } from "../engine/time-limits.ts";

/** The file system of a running container, as its first process has it. */
export type ContainerRoot = AsyncDisposable & {
  /** Goes before a path in the container; what follows is up to who uses it, links in it lead anywhere */
  readonly path: string;
  /** Reads its `mountinfo` */
  readMounts(): Promise<string>;
  /** Whether that process is gone: the kernel lets it go only after all others in the container */
  hasEnded(): Promise<boolean>;
};

/** Opens the file system of a container's first process; `undefined` if that is not possible at the moment. */
export type LookInto = (pid: number, id: string) => Promise<ContainerRoot | undefined>;

export type OpenOptions = {
  /** Time for further tries: an engine reports a start some moments before the kernel allows a look */
  readonly patienceMs?: number;
  readonly lookInto?: LookInto | undefined;
};

const LOOK_AGAIN_MS = 5;

/**
 * Looks into a running container past the engine, which needs up to 45 ms for each thing that it is asked. `undefined` where
 * that process is not here to be looked at, such as with an engine on another machine or kernel.
 */
export async function openContainerRoot(
  container: Docker.Container,
  { lookInto = lookIntoProcess, patienceMs = 0 }: OpenOptions = {},
): Promise<ContainerRoot | undefined> {
  const { Id, State } = await container.inspect(withLimit());
  const until = performance.now() + patienceMs;
  for (;;) {
    const root = await lookInto(State.Pid, Id);
    if (root !== undefined || State.Pid === 0 || performance.now() >= until) return root;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** Tries once, through `/proc`. */
export const lookIntoProcess: LookInto = async (pid, id) => {
  const { O_DIRECTORY, O_RDONLY } = constants;
  // Held open, it is this process for good, and no later one of the same number.
  const process = await open(`/proc/${pid}`, O_RDONLY | O_DIRECTORY).catch(() => undefined);
  if (process === undefined) return undefined;
  const path = toOpened(process);
  const read = (name: string): Promise<string> => readFile(`${path}/${name}`, "utf8").catch(() => "");
  const [mounts, status, canEnter] = await Promise.all([read("mountinfo"), read("status"), isThere(`${path}/root/`)]);
  // On another kernel the number may be anybody's here. A container's own mounts name it, and so do those of whoever sees
  // the host's; but of these none is the first process of another pid namespace.
  if (canEnter && mounts.includes(id) && /^NSpid:\t\d+\t(?:\d+\t)*1$/m.test(status)) {
    return {
      path: `${path}/root`,
      readMounts: () => readFile(`${path}/mountinfo`, "utf8"),
      hasEnded: () => isGone(`${path}/stat`),
      [Symbol.asyncDispose]: () => process.close(),
    };
  }
  await process.close();
  return undefined;
};

/** Tells whether a later try may succeed: until the runtime has executed the container's program, only root may look. */
async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function isGone(path: string): Promise<boolean> {
  return readFile(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ESRCH",
  );
}
