import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TurnEvents, type ProtocolTurn } from "@budgie/core/protocol";
import { failureOf } from "@budgie/testkit";
import { CREDITS, TURN, createBudgeted } from "../helpers/create-budgeted.ts";

describe("a running turn", () => {
  it("is stopped at its agent's next act after its credits are used, with what it has said", async () => {
    const { runTurn, settled } = createBudgeted({
      caps: [{ unit: "credits", amount: 2, limit: { ...CREDITS, used: 8 } }],
      budget: { day: { credits: 10 } },
      work: async ({ events, signal }) => {
        events.emit("output", Buffer.from("Half of \u001b[1mit\u200B.\n"), "stdout");
        events.emit("usage", { credits: 1.9 });
        events.emit("activity", "Read a file");
        expect(signal?.aborted).toBe(false);
        events.emit("usage", { credits: 2.1 });
        expect(signal?.aborted).toBe(false);
        events.emit("activity", "Read another");
        expect(signal?.aborted).toBe(true);
      },
    });

    const { code, message, report } = await failureOf(runTurn(TURN));

    expect([code, report.response]).toEqual(["BUDGET_SPENT", "Half of it."]);
    expect(message).toMatch(
      /used the 2 credits that were left of 10 credits of the agent "tester" for a day\. What it/,
    );
    expect(report.sessionId).toBeDefined();
    expect(settled).toEqual([expect.objectContaining({ credits: 2.1 })]);
  });

  it.each<[string, (turn: ProtocolTurn) => unknown]>([
    ["reports more", ({ events }) => events.emit("usage", { credits: 2.2 })],
    ["has gone on for 5 s", () => vi.advanceTimersByTimeAsync(5000)],
  ])("is stopped too if its agent %s", async (_how, goOn) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { runTurn } = createBudgeted({
      caps: [{ unit: "credits", amount: 2, limit: CREDITS }],
      budget: { day: { credits: 10 } },
      async work(turn) {
        turn.events.emit("usage", { credits: 2.1 });
        expect(turn.signal?.aborted).toBe(false);
        await goOn(turn);
      },
    });

    expect((await failureOf(runTurn(TURN))).code).toBe("BUDGET_SPENT");
  });

  it("that its caller cancels is cancelled, also once its budget is spent, and nobody listens to it any more", async () => {
    const [caller, events] = [new AbortController(), new TurnEvents()];
    const { runTurn } = createBudgeted({
      caps: [{ unit: "credits", amount: 2, limit: CREDITS }],
      budget: { day: { credits: 10 } },
      async work() {
        events.emit("usage", { credits: 2.1 });
        events.emit("activity", "Read a file");
        caller.abort();
      },
    });

    const { code } = await failureOf(runTurn(TURN, { events, signal: caller.signal }));

    expect(code).toBe("CANCELLED");
    expect([events.listenerCount("usage"), events.listenerCount("output")]).toEqual([0, 0]);
  });

  it("tells its progress and the bell once of each limit of which four fifths are used", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const events = new TurnEvents();
    const told: unknown[] = [];
    events.on("budget", (notice) => told.push(notice));
    events.on("phase", (now) => now.phase === "running" && told.push(now.activity));
    const minutes = { ...CREDITS, unit: "minutes", most: 10, window: "turn" } as const;
    const { runTurn } = createBudgeted({
      caps: [
        { unit: "credits", amount: 2, limit: CREDITS },
        { unit: "minutes", amount: 10, limit: minutes },
      ],
      budget: { day: { credits: 10 } },
      async work() {
        for (const credits of [1.5, 1.6, 1.9]) events.emit("usage", { credits });
        await vi.advanceTimersByTimeAsync(8 * 60_000);
      },
    });

    const { response } = await runTurn(TURN, { events });

    const end = ", and is stopped once it has used all.";
    const credits = `It has used four fifths of the 2 credits that were left of 10 credits of the agent "tester" for a day${end}`;
    const time = `It has used four fifths of 10 minutes of the agent "tester" for a call${end}`;
    expect(response).toBe("done");
    // The first phase has no activity.
    expect(told).toEqual([undefined, credits, credits, time, time]);
  });

  it("is answered if it reports with its answer that it used more", async () => {
    const { runTurn } = createBudgeted({
      caps: [{ unit: "credits", amount: 2, limit: CREDITS }],
      budget: { day: { credits: 10 } },
      report: { credits: 9 },
    });

    expect((await runTurn(TURN)).response).toBe("done");
  });

  it("is stopped once its minutes are over", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { runTurn } = createBudgeted({
      caps: [{ unit: "minutes", amount: 3, limit: { ...CREDITS, unit: "minutes", window: "turn", most: 3 } }],
      budget: { turn: { minutes: 3 } },
      work: async ({ signal }) => {
        await vi.advanceTimersByTimeAsync(3 * 60_000 - 1);
        expect(signal?.aborted).toBe(false);
        await vi.advanceTimersByTimeAsync(1);
      },
    });

    expect((await failureOf(runTurn(TURN))).message).toMatch(
      /^The agent was stopped, since it has used 3 minutes of the agent "tester" for a call\. It had said nothing yet\./,
    );
  });
});
