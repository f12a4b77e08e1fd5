import { randomUUID } from "node:crypto";
import {
  BudgieError,
  type AheadCount,
  type Asker,
  type Isolation,
  type OwnerAnswer,
  type RunTurn,
  type TurnProgress,
} from "@budgie/core";
import { createRunOutput, type RunOutput } from "./run-output.ts";
import { runRequest, type LiveRun, type runAnswer } from "./run-requests.ts";
import type { z } from "zod";

/** The turns of this process that wait or run now. */
export type LiveRuns = {
  /** Wraps the turns of a client, so that other processes of this user can list, read and stop them. */
  readonly follow: (runTurn: RunTurn, client: () => string | undefined) => RunTurn;
  /** Answers the requests of other processes. */
  readonly answer: OwnerAnswer;
};

type Followed = {
  /** `undefined` until the call was checked, since the caller chooses the agent's name */
  place: TurnProgress | undefined;
  readonly facts: Pick<LiveRun, "client" | "directory" | "startedMs">;
  readonly output: RunOutput;
  readonly stop: AbortController;
  /** Resolves to the outcome; never rejects */
  readonly ended: Promise<string>;
  readonly end: (outcome: string) => void;
};

const LONGEST_NAME = 100;

/** Creates the table of the turns that run in this process. `countAhead` counts the sessions and turns kept ready. */
export function createLiveRuns(
  isolationOf: (agent: string) => Isolation,
  countAhead: () => AheadCount | undefined = () => undefined,
): LiveRuns {
  const runs = new Map<string, Followed>();

  function toLiveRuns(): readonly LiveRun[] {
    return [...runs.values()].flatMap(({ facts, place }) => {
      if (place === undefined) return [];
      const { sinceMs: _, ...rest } = place;
      return [{ ...rest, ...facts, isolation: isolationOf(place.agent) }];
    });
  }

  async function answerOutput(run: Followed, isFollowed: boolean, { send, signal }: Asker): Promise<void> {
    send({ text: run.output.text() } satisfies Answer<"output">);
    if (!isFollowed) return;
    const unfollow = run.output.follow((text) => send({ text } satisfies Answer<"output">));
    const end = await Promise.race([run.ended, aborted(signal)]).finally(unfollow);
    if (end !== undefined) send({ end } satisfies Answer<"output">);
  }

  return {
    follow:
      (runTurn, client) =>
      async (request, hooks = {}) => {
        const { onOutput, onProgress, runId = randomUUID(), signal } = hooks;
        const run = createFollowed({
          client: client()?.slice(0, LONGEST_NAME),
          directory: request.directory,
          startedMs: Date.now(),
        });
        const { end, output, stop } = run;
        runs.set(runId, run);
        try {
          const reply = await runTurn(request, {
            ...hooks,
            runId,
            signal: AbortSignal.any([stop.signal, ...(signal === undefined ? [] : [signal])]),
            onProgress(progress) {
              run.place = progress;
              onProgress?.(progress);
            },
            onOutput(chunk, stream) {
              output.add(chunk, stream);
              onOutput?.(chunk, stream);
            },
          });
          end("answered");
          return reply;
        } catch (error) {
          end(error instanceof BudgieError ? error.code : "BUG");
          if (stop.signal.aborted) addStop(error);
          throw error;
        } finally {
          runs.delete(runId);
        }
      },
    async answer(data, asker) {
      const request = runRequest.parse(data);
      if (request.ask === "runs") {
        return asker.send({ runs: [...toLiveRuns()], ahead: countAhead() } satisfies Answer<"runs">);
      }
      const run = runs.get(request.runId);
      if (run === undefined) return;
      if (request.ask === "output") return answerOutput(run, request.follow, asker);
      run.stop.abort();
      asker.send({ outcome: await run.ended } satisfies Answer<"stop">);
    },
  };
}

type Answer<Request extends keyof typeof runAnswer> = z.infer<(typeof runAnswer)[Request]>;

function createFollowed(facts: Followed["facts"]): Followed {
  let end: Followed["end"] = () => undefined;
  const ended = new Promise<string>((resolve) => (end = resolve));
  return { place: undefined, facts, output: createRunOutput(), stop: new AbortController(), ended, end };
}

/** Notes in the error of a cancelled turn that the user stopped it, not its caller. */
function addStop(error: unknown): void {
  if (!(error instanceof BudgieError) || error.code !== "CANCELLED") return;
  error.message += ' The user stopped it with "budgie stop".';
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}
