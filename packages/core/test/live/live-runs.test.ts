import { describe, expect, it } from "vitest";
import { BudgieError, type Reply, type RunTurn } from "@budgie/core";
import type { TurnHooks } from "@budgie/core/turn";
import { throughStep } from "../../../cli/test/helpers/through-step.ts";
import { createLiveRuns, type LiveRuns } from "../../src/live/live-runs.ts";

const REQUEST = { agent: "asked", prompt: "x", directory: "/project" };
const RUN_ID = "0a0a0a0a-0000-4000-8000-000000000000";

describe("createLiveRuns", () => {
  it("lists a turn from its first progress to its end, by the names of the agent and of the client", async () => {
    const { answer, begin } = createTurn();
    const { end, hooks, turn } = begin();

    expect(await answer({ ask: "runs" })).toEqual([{ runs: [] }]);
    progress(hooks(), { phase: "waiting", position: 2 });
    expect(await answer({ ask: "runs" })).toEqual([
      {
        runs: [
          {
            runId: RUN_ID,
            agent: "reader",
            client: "some-client",
            directory: "/project",
            isolation: "container",
            sessionId: undefined,
            startedMs: expect.any(Number),
            phase: "waiting",
            position: 2,
          },
        ],
      },
    ]);
    end();
    await turn;
    expect(await answer({ ask: "runs" })).toEqual([{ runs: [] }]);
  });

  it("lists what changed after agents' last turns, if anything did", async () => {
    const paths = Array.from({ length: 25 }, (_, number) => `.vscode/${number}.json`);
    const left = [{ agent: "coder", directory: "/project", paths }];
    const { answer } = createTurn({ listLeft: () => left });

    expect(await answer({ ask: "runs" })).toEqual([{ runs: [], left: [{ ...left[0], paths: paths.slice(0, 20) }] }]);
    left.pop();
    expect(await answer({ ask: "runs" })).toEqual([{ runs: [] }]);
  });

  it("gives the output so far, and with follow the rest and the outcome", async () => {
    const { answer, begin } = createTurn();
    const { end, hooks } = begin();
    print(hooks(), "One.\n");
    const followed = answer({ ask: "output", runId: RUN_ID, follow: true });
    // The two bytes of a character may arrive apart.
    hooks().events?.emit("output", Buffer.from([0xc3]), "stdout");
    hooks().events?.emit("output", Buffer.from([0xa4]), "stdout");

    expect(await answer({ ask: "output", runId: RUN_ID, follow: false })).toEqual([{ text: "One.\nä" }]);
    end();
    expect(await followed).toEqual([{ text: "One.\n" }, { text: "ä" }, { end: "answered" }]);
  });

  it("keeps the end of a long output, and says what is missing", async () => {
    const { answer, begin } = createTurn();
    const { hooks } = begin();
    for (let count = 0; count < 1_000; count++) print(hooks(), "x".repeat(1_024));
    print(hooks(), "the end");

    const [{ text }] = (await answer({ ask: "output", runId: RUN_ID, follow: false })) as [{ text: string }];

    expect(text).toMatch(/^\[budgie: \d+ bytes before this are not kept\]\nx+the end$/);
    expect(text.length).toBeLessThan(600 * 1_024);
  });

  it("stops a turn, and says in its error who did", async () => {
    const { answer, begin } = createTurn();
    const { turn } = begin();

    expect(await answer({ ask: "stop", runId: RUN_ID })).toEqual([{ outcome: "CANCELLED" }]);
    await expect(turn).rejects.toMatchObject({
      code: "CANCELLED",
      message: 'It was cancelled. The user stopped it with "budgie stop".',
    });
  });

  it("leaves the error of a turn alone that its own caller cancels", async () => {
    const caller = new AbortController();
    const { begin } = createTurn();
    const { turn } = begin({ signal: caller.signal });
    caller.abort();

    await expect(turn).rejects.toMatchObject({ message: "It was cancelled." });
  });

  it("answers nothing about a turn that it does not run, and refuses what is no request", async () => {
    const { answer } = createTurn();

    expect(await answer({ ask: "stop", runId: RUN_ID })).toEqual([]);
    await expect(answer({ ask: "everything" })).rejects.toThrow();
  });
});

/** Creates a turn that ends when the test says so, or when it is cancelled. */
function createTurn(besides: Parameters<typeof createLiveRuns>[1] = {}) {
  const liveRuns = createLiveRuns(() => "container", besides);

  function begin(given: TurnHooks = {}) {
    let hooks: TurnHooks = {};
    let end: () => void = () => undefined;
    const runTurn: RunTurn = (_, received = {}) => {
      hooks = received;
      return new Promise((resolve, reject) => {
        end = () => resolve({} as Reply);
        received.signal?.addEventListener("abort", () => reject(new BudgieError("CANCELLED", "It was cancelled.")));
      });
    };
    const turn = throughStep(
      liveRuns.follow(() => "some-client"),
      runTurn,
    )(REQUEST, { ...given, runId: RUN_ID });
    turn.catch(() => undefined);
    return { end: () => end(), hooks: () => hooks, turn };
  }

  return { begin, answer: (request: unknown) => ask(liveRuns, request) };
}

async function ask({ answer }: LiveRuns, request: unknown): Promise<readonly unknown[]> {
  const sent: unknown[] = [];
  await answer(request, { send: (value) => void sent.push(value), signal: new AbortController().signal });
  return sent;
}

function progress({ events }: TurnHooks, place: { phase: "waiting"; position: number }): void {
  events?.emit("phase", { agent: "reader", runId: RUN_ID, sessionId: undefined, sinceMs: 0, ...place });
}

function print({ events }: TurnHooks, text: string): void {
  events?.emit("output", Buffer.from(text), "stdout");
}
