import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { timeLimit } from "../engine/with-timeout.ts";

const LOOK_MS = 50;

/** Waits for the end of a program in a running container. Resolves to `undefined` if it does not end in time, or its container is gone. */
export async function awaitExitCode(made: Docker.Exec, limitMs: number): Promise<number | undefined> {
  for (const until = performance.now() + limitMs; performance.now() < until; await sleep(LOOK_MS)) {
    const state = await made.inspect(timeLimit()).catch(() => undefined);
    if (state === undefined) return undefined;
    if (!state.Running) return state.ExitCode ?? undefined;
  }
  return undefined;
}
