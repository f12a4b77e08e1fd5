import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { openProcessRoot, type ContainerRoot, type OpenRoot } from "@budgie/sandbox/proc";
import { timeLimit } from "../engine/with-timeout.ts";

export type OpenOptions = {
  /** Time for further attempts: an engine reports a start some moments before the kernel permits access */
  readonly timeoutMs?: number;
  readonly openRoot?: OpenRoot | undefined;
  /** Returns the container's last known run, which is tried first; default: none is known */
  readonly lastRun?: (() => ContainerRun | undefined) | undefined;
};

/** A run of a container, which may be over. */
export type ContainerRun = { readonly id: string; readonly pid: number };

/** The time after a container's start in which it must permit a look, in milliseconds. */
export const LOOK_TIMEOUT_MS = 2000;

const LOOK_AGAIN_MS = 5;

/**
 * Opens the file system of a running container without the engine, which takes up to 45 ms for each request. `undefined` if
 * its process is not accessible, such as with an engine on another machine or kernel.
 */
export async function openContainerRoot(
  container: Docker.Container,
  { lastRun, openRoot = openProcessRoot, timeoutMs = 0 }: OpenOptions = {},
): Promise<ContainerRoot | undefined> {
  const known = await openKnown(lastRun?.(), openRoot);
  if (known !== undefined) return known;
  const { Id, State } = await container.inspect(timeLimit());
  const until = performance.now() + timeoutMs;
  for (;;) {
    const root = await openRoot(State.Pid, Id);
    if (root !== undefined || State.Pid === 0 || performance.now() >= until) return root;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** Opens the file system of a known run, if the kernel says that its process is the container's still. */
async function openKnown(run: ContainerRun | undefined, openRoot: OpenRoot): Promise<ContainerRoot | undefined> {
  return run && openRoot(run.pid, run.id);
}
