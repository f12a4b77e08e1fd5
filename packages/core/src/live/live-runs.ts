import { BudgieError } from "../errors.ts";
import type { Asker, OwnerAnswer } from "../owners/ask-owner.ts";
import type { Isolation } from "../owners/owner-record.ts";
import type { TurnProgress } from "../protocol/turn-events.ts";
import type { AheadCount } from "../runner/runner.ts";
import type { LeftChanges } from "../turn/left-changes.ts";
import type { Step } from "../turn/turn.ts";
import { createRunOutput, type RunOutput } from "./run-output.ts";
import { runRequest, type LiveRun, type runAnswer } from "./run-request.ts";
import type { z } from "zod";

/** The turns of this process that wait or run now. */
export type LiveRuns = {
  /** Creates a step by which other processes of this user can list, read and stop the turns of a client. */
  readonly follow: (client: () => string | undefined) => Step;
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

/** Further facts for `budgie ps`. */
type Besides = {
  /** Counts the sessions and turns kept ready */
  readonly countAhead?: () => AheadCount | undefined;
  /** Lists the changes after agents' last turns that no result has told */
  readonly listLeft?: () => readonly LeftChanges[];
};

const MOST_LEFT = 20;

/** Creates the table of the turns that run in this process. */
export function createLiveRuns(isolationOf: (agent: string) => Isolation, besides: Besides = {}): LiveRuns {
  const { countAhead, listLeft = () => [] } = besides;
  const runs = new Map<string, Followed>();

  function listRuns(): readonly LiveRun[] {
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
    follow: (client) => async (turn, next) => {
      const run = createFollowed({
        client: client()?.slice(0, LONGEST_NAME),
        directory: turn.asked.directory,
        startedMs: Date.now(),
      });
      const { end, output, stop } = run;
      runs.set(turn.id, run);
      turn.signal = AbortSignal.any([stop.signal, ...(turn.signal === undefined ? [] : [turn.signal])]);
      turn.events.on("phase", (progress) => void (run.place = progress));
      turn.events.on("output", output.add);
      try {
        const answer = await next();
        end("answered");
        return answer;
      } catch (error) {
        end(error instanceof BudgieError ? error.code : "BUG");
        if (stop.signal.aborted) addStop(error);
        throw error;
      } finally {
        runs.delete(turn.id);
      }
    },
    async answer(data, asker) {
      const request = runRequest.parse(data);
      if (request.ask === "runs") {
        const left = listLeft()
          .slice(-MOST_LEFT)
          .map(({ paths, ...of }) => ({ ...of, paths: paths.slice(0, MOST_LEFT) }));
        return asker.send({
          runs: [...listRuns()],
          ahead: countAhead?.(),
          ...(left.length === 0 ? {} : { left }),
        } satisfies Answer<"runs">);
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
