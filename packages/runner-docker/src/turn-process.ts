import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { BudgieError, type AgentProcess, type Exit, type StopReason } from "@budgie/core";
import { demultiplex } from "./demultiplex.ts";
import { ignoreMissing, statusOf, toBudgieError } from "./docker-errors.ts";
import { API_LIMIT_MS, withLimit } from "./api-limit.ts";
import type { ContainerRoot } from "./enter-container.ts";
import { createOutput, hearLastWord, type Output } from "./last-word.ts";
import { toExit } from "./to-exit.ts";

/** A container that was started, seen as a process. */
export type TurnProcess = AgentProcess & {
  /** Resolves once the container is removed; never rejects */
  readonly gone: Promise<void>;
};

// Whoever ends budgie waits for it, and gets 10 s in all.
const GRACE_S: Readonly<Record<StopReason, number>> = { timeout: 5, cancelled: 5, shutdown: 2 };
// How long an engine that restarts is waited for, before the turn is given up.
const ENGINE_LOSS_MS = 60_000;

/** A turn's container, which waits for its word to begin. */
export type StartedTurn = {
  readonly container: Docker.Container;
  /** What it is attached to */
  readonly socket: Duplex;
  /** `undefined` if it is not here to be looked at */
  readonly root: ContainerRoot | undefined;
  /** Goes before its last word; `undefined` if it will say none */
  readonly token: string | undefined;
};

/** Wraps a started container and its attach stream. When it has ended, the container is removed. */
export function toTurnProcess({ container, root, socket, token }: StartedTurn): TurnProcess {
  const outputs = [createOutput(token), createOutput(token)] as const;
  const [{ stream: stdout }, { stream: stderr }] = outputs;
  let stopped: StopReason | undefined;
  socket.on("error", () => undefined);
  const dropping = new AbortController();
  const closed = demultiplex(socket, { stdout, stderr, dropping: dropping.signal });

  let giveUp: (error: unknown) => void = () => undefined;
  const givenUp = new Promise<never>((_resolve, reject) => void (giveUp = reject));
  const endedOnEngine = Promise.race([waitForEnd(container, closed), givenUp]);
  const ended = Promise.race([hearEnd(outputs, root, endedOnEngine), endedOnEngine]);
  const exit = ended.then((end): Exit => toExit({ ...end, stopped }));
  // The engine would take a container that it believes to run for one that has to be killed.
  const gone = endedOnEngine
    .catch(() => undefined)
    .then(() => removeContainer(container))
    .catch(() => undefined);
  exit.catch(() => undefined);
  void gone.then(() => root?.[Symbol.asyncDispose]());

  return {
    stdin: socket,
    stdout,
    stderr,
    exit,
    gone,
    async stop(reason) {
      stopped ??= reason;
      dropping.abort();
      try {
        await endContainer(container, GRACE_S[reason]);
      } catch (error) {
        // An engine that does not answer must not hang the turn as well.
        giveUp(toBudgieError(error, container.id));
      }
      await gone;
      // An output that nobody reads would keep the connection for ever.
      socket.destroy();
    },
  };
}

type End = { readonly exitCode: number; readonly oomKilled: boolean };

/** By its last word, and else as the engine tells it. */
async function hearEnd(
  outputs: readonly Output[],
  root: ContainerRoot | undefined,
  endedOnEngine: Promise<End>,
): Promise<End> {
  const word = root && (await hearLastWord(outputs, root));
  if (word === undefined) return endedOnEngine;
  for (const output of outputs) output.end();
  return { exitCode: word.exitCode, oomKilled: false };
}

/**
 * Waits after the start, for "not running": waiting earlier can hang for ever. The wait itself never settles when the
 * engine dies, so the closed output is the second witness, and then the container is asked directly.
 */
async function waitForEnd(container: Docker.Container, closed: Promise<void>): Promise<End> {
  const giveUp = new AbortController();
  const waited = container.wait({ abortSignal: giveUp.signal }).then(
    () => true,
    () => false,
  );
  await Promise.race([waited, closed.then(() => Promise.race([waited, sleep(2000)]))]);
  giveUp.abort();
  return inspectEnd(container);
}

async function inspectEnd(container: Docker.Container): Promise<End> {
  const until = performance.now() + ENGINE_LOSS_MS;
  for (;;) {
    const state = await container.inspect(withLimit()).then(
      (facts) => facts.State,
      (error: unknown) => {
        if (statusOf(error) !== 404) return undefined;
        throw new BudgieError("AGENT_CRASHED", "The agent's container was removed by somebody else. Ask again.", {
          cause: error,
        });
      },
    );
    if (state !== undefined && !state.Running) return { exitCode: state.ExitCode, oomKilled: state.OOMKilled };
    if (state === undefined && performance.now() > until) {
      throw new BudgieError("RUNNER_UNAVAILABLE", "The engine went away during the turn. Start it again.");
    }
    await sleep(250);
  }
}

/** Asks a container to end, and kills it after the grace; one that has ended or is gone already is fine. */
async function endContainer(container: Docker.Container, graceS: number): Promise<void> {
  try {
    await container.stop({ t: graceS, ...withLimit(graceS * 1000 + API_LIMIT_MS) });
  } catch (error) {
    if (statusOf(error) === 304 || statusOf(error) === 404) return;
    await container.kill(withLimit()).catch((refusal: unknown) => {
      // 409: it is not running any more.
      if (statusOf(refusal) !== 409 && statusOf(refusal) !== 404) throw refusal;
    });
  }
}

/** Removes a container with the anonymous volumes that its image declared. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true, ...withLimit() });
  } catch (error) {
    if (statusOf(error) !== 409) return ignoreMissing(error);
    // Somebody else is just removing it, such as another budgie that collects garbage.
    await container.wait({ condition: "removed", ...withLimit() }).catch(ignoreMissing);
  }
}
