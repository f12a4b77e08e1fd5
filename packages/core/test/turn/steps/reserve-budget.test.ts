import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Runner } from "@budgie/core";
import type { Budget } from "@budgie/core/budget";
import type { Nesting } from "@budgie/core/policy";
import { TurnEvents } from "@budgie/core/protocol";
import { failureOf } from "@budgie/testkit";
import { CREDITS, TURN, createBudgeted } from "../../helpers/create-budgeted.ts";

describe("a turn whose budget is spent", () => {
  it("starts nothing, and says of whom, how much, until when and what to do", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date(2026, 10, 28, 22, 30) });
    onTestFinished(() => void vi.useRealTimers());
    const { runTurn, runner } = createBudgeted({ spent: CREDITS });

    const { code, message } = await failureOf(runTurn(TURN));

    expect([code, runner.runs]).toEqual(["BUDGET_SPENT", []]);
    expect(message).toBe(
      'The agent "tester" was not started: the budget of the agent "tester" for a day is spent, 10 of 10 credits, 3 of them ' +
        "reserved by running turns. It is free again at midnight, in 1h30m, or once running turns return what they reserved. " +
        `Only the user can allow more, by "budget" in budgie's configuration.`,
    );
  });

  it.each([
    [{ window: "session", reserved: 0 }, /for a session is spent.*A new session has a budget of its own/],
    [{ window: "turn", scope: "call", reserved: 0 }, /budget of this call is spent.*without more agents/],
    [{ scope: "directory /home/ada", reserved: 10 }, /the directory "\/home\/ada" for a day.*all reserved by running/],
    [{ scope: "all", reserved: 0 }, /all agents for a day is spent, 10 of 10 credits\. It is free/],
  ] as const)("of the kind %j says so", async (kind, expected) => {
    const { runTurn } = createBudgeted({ spent: { ...CREDITS, ...kind } });

    expect((await failureOf(runTurn(TURN))).message).toMatch(expected);
  });
});

describe("a turn with a budget", () => {
  it("reserves what counts for its agent, directory and call, and settles what its program reports", async () => {
    const { runTurn, settled, wishes } = createBudgeted({
      budget: { turn: { credits: 5 }, session: { turns: 3 } },
      report: { basis: "turn", credits: 1.5, inputTokens: 100, cachedTokens: 900, outputTokens: 20 },
    });

    const { runId } = await runTurn({ ...TURN, budget: { USD: 1 } });

    expect(wishes[0]?.limits).toEqual([
      { scope: "all", window: "turn", period: `turn ${runId}`, unit: "credits", most: 5 },
      { scope: "all", window: "session", period: `session of ${runId}`, unit: "turns", most: 3 },
      { scope: "call", window: "turn", period: `turn ${runId}`, unit: "USD", most: 1 },
    ]);
    expect(settled).toEqual([{ turns: 1, minutes: expect.any(Number), credits: 1.5, tokens: 120 }]);
  });

  it("settles a failed turn too, and one that started nothing as nothing", async () => {
    const failed = createBudgeted({ budget: { day: { turns: 1 } }, failure: new Error("A bug.") });
    const unopened = createBudgeted({
      budget: { day: { turns: 1 } },
      openSession: () => Promise.reject(new Error("No room.")),
    });

    await expect(failed.runTurn(TURN)).rejects.toThrow("A bug.");
    await expect(unopened.runTurn(TURN)).rejects.toThrow("No room.");

    expect([failed.settled, unopened.settled]).toEqual([[{ turns: 1, minutes: expect.any(Number) }], [undefined]]);
  });

  it("names the session that it opens, once", async () => {
    const { bound, runTurn } = createBudgeted({ budget: { session: { turns: 3 } } });

    const { runId, sessionId } = await runTurn(TURN);
    await runTurn({ ...TURN, sessionId });

    expect(bound).toEqual([[runId, sessionId]]);
  });

  it.each(["none", "container", "remote"] as const)(
    "lets no agent begin whose session could not be named: isolation %s",
    async (isolation) => {
      const bind = (): Promise<void> => Promise.reject(new Error("Full disk."));
      const { begun, runTurn } = createBudgeted({ budget: { session: { turns: 3 } }, bind, isolation });

      await expect(runTurn(TURN)).rejects.toThrow("Full disk.");
      expect(begun).toEqual([]);
    },
  );

  it("is answered even if its budget cannot be settled", async () => {
    const { runTurn } = createBudgeted({
      budget: { day: { turns: 1 } },
      settle: () => Promise.reject(new Error("Full disk.")),
    });

    const { response, warnings } = await runTurn(TURN);

    expect([response, warnings]).toEqual([
      "done",
      [expect.stringMatching(/counts with what it reserved until another turn begins: Full disk/)],
    ]);
  });

  it("reports limits of which four fifths are used, and only those", async () => {
    const standings = [
      { ...CREDITS, used: 8, reserved: 0 },
      { ...CREDITS, used: 7.9 },
    ].map((one) => ({ ...one, unit: "turns" }));
    const { runTurn } = createBudgeted({ budget: { day: { turns: 10 } }, settle: async () => standings });

    expect((await runTurn(TURN)).warnings).toEqual([
      'The budget of the agent "tester" for a day is nearly spent: 8 of 10 turns.',
    ]);
  });

  it("tells its events of a limit that it brought to four fifths, and of none that was nearly used up before", async () => {
    const standings = [8, 8.9, 9].map((used) => ({ ...CREDITS, used, reserved: 0, unit: "turns" }));
    const { runTurn } = createBudgeted({ budget: { day: { turns: 10 } }, settle: async () => standings });
    const told: string[] = [];
    const events = new TurnEvents();
    events.on("budget", (notice) => told.push(notice));

    await runTurn(TURN, { events });

    expect(told.map((notice) => /[\d.]+ of 10 turns/.exec(notice)?.[0])).toEqual(["8 of 10 turns", "8.9 of 10 turns"]);
  });

  it("reports once what its program does not count", async () => {
    const { runTurn } = createBudgeted({
      budget: { day: { credits: 10 } },
      settle: async () => [{ ...CREDITS, used: 1 }],
    });

    const warnings = [(await runTurn(TURN)).warnings, (await runTurn(TURN)).warnings];

    expect(warnings).toEqual([[expect.stringMatching(/"tester" did not report its credits/)], []]);
  });
});

describe("a call", () => {
  it.each([
    ["more than is configured", { credits: 6 }, "INPUT_INVALID"],
    ["as much", { credits: 5 }, undefined],
    ["less", { credits: 1 }, undefined],
  ])("may not ask for a looser budget: %s", async (_, budget, code) => {
    const { runTurn } = createBudgeted({ budget: { turn: { credits: 5 } } });

    const failure = await runTurn({ ...TURN, budget }).then(
      () => undefined,
      (error: { code: string }) => error.code,
    );

    expect(failure).toBe(code);
  });

  it("without any budget reserves nothing", async () => {
    const { runTurn, wishes } = createBudgeted({});

    await runTurn(TURN);

    expect(wishes).toEqual([]);
  });
});

describe("where agents may call agents", () => {
  it.each<[Budget, number]>([
    [{}, 20],
    [{ turn: { turns: 3 } }, 3],
  ])("with the budget %j a call has %i turns, its own included", async (budget, most) => {
    const { runTurn, wishes } = createBudgeted({ budget, nesting: { level: 0, most: 2 } });

    await runTurn(TURN);

    expect(wishes[0]?.limits).toEqual([expect.objectContaining({ window: "turn", unit: "turns", most })]);
  });

  it("a call in a sandbox, whose agents' budgies have a state of their own, reserves nothing without a budget", async () => {
    const { runTurn, wishes } = createBudgeted({ nesting: { level: 0, most: 2 }, isolation: "container" });

    await runTurn(TURN);

    expect(wishes).toEqual([]);
  });

  it("their processes learn the session of the outermost call, unless in a sandbox", async () => {
    const marksOf = async (nesting: Nesting, isolation: Runner["isolation"]) => {
      const { runTurn, runner } = createBudgeted({ nesting, isolation });
      const { sessionId } = await runTurn(TURN);
      return runner.runs[0]?.command.env["BUDGIE_ROOT_SESSION"]?.replace(sessionId, "own");
    };

    expect(await marksOf({ level: 0, most: 2 }, "none")).toBe("own");
    expect(await marksOf({ level: 1, most: 3, rootSession: "abc" }, "none")).toBe("abc");
    expect(await marksOf({ level: 0, most: 1 }, "none")).toBeUndefined();
    expect(await marksOf({ level: 0, most: 2 }, "container")).toBeUndefined();
  });
});
