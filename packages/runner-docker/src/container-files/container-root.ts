import { toDescriptorPath } from "../sandbox/mount-sources.ts";
import { constants } from "node:fs";
import { open, readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { timeLimit } from "../engine/time-limits.ts";
import type { ContainerRoot, LookInto } from "./look-into.ts";

export type OpenOptions = {
  /** Time for further attempts: an engine reports a start some moments before the kernel permits access */
  readonly timeoutMs?: number;
  readonly lookInto?: LookInto | undefined;
};

/** The time after a container's start in which it must permit a look, in milliseconds. */
export const LOOK_TIMEOUT_MS = 2000;

const LOOK_AGAIN_MS = 5;

/**
 * Opens the file system of a running container without the engine, which takes up to 45 ms for each request. `undefined` if
 * its process is not accessible, such as with an engine on another machine or kernel.
 */
export async function openContainerRoot(
  container: Docker.Container,
  { lookInto = lookIntoProcess, timeoutMs = 0 }: OpenOptions = {},
): Promise<ContainerRoot | undefined> {
  const { Id, State } = await container.inspect(timeLimit());
  const until = performance.now() + timeoutMs;
  for (;;) {
    const root = await lookInto(State.Pid, Id);
    if (root !== undefined || State.Pid === 0 || performance.now() >= until) return root;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** Looks into a container once, through `/proc`. */
export const lookIntoProcess: LookInto = async (pid, id) => {
  const { O_DIRECTORY, O_RDONLY } = constants;
  // The open folder keeps referring to this process, and not to a later one with the same pid.
  const process = await open(`/proc/${pid}`, O_RDONLY | O_DIRECTORY).catch(() => undefined);
  if (process === undefined) return undefined;
  const path = toDescriptorPath(process);
  const read = (name: string): Promise<string> => readFile(`${path}/${name}`, "utf8").catch(() => "");
  const [mounts, status, canEnter] = await Promise.all([read("mountinfo"), read("status"), isThere(`${path}/root/`)]);
  // With an engine on another kernel, the pid may be any process here. Apart from the container's processes, only those that see the host's
  // mounts have its id among their mounts, and none of these is the first process of another pid namespace.
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

/** Returns true if a path is accessible: until the runtime has executed the container's program, only root has access. */
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
