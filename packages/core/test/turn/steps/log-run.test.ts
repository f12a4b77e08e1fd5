import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import type { BegunRun, RunLog } from "@budgie/core/runs";
import { failureOf, type FakeProgram } from "@budgie/testkit";
import { createLoggedTurns } from "../../helpers/logged-turns.ts";

const TURN = { agent: "tester", prompt: "Grüße", directory: import.meta.dirname };

const NO_CHANGES = { first: [], files: 0, more: 0 };

describe("a turn in the run log", () => {
  it("is recorded before its answer is returned, with the facts about it", async () => {
    const order: string[] = [];
    const { runs, runTurn } = createLoggedTurns(
      () => ({}),
      async () => {
        await sleep(20);
        order.push("recorded");
      },
    );
    const before = Date.now();

    const { runId, sessionId } = await runTurn(TURN).finally(() => order.push("answered"));

    expect(order).toEqual(["recorded", "answered"]);
    expect(runs).toEqual([
      {
        id: runId,
        agent: "tester",
        sessionId,
        isolation: "none",
        startedMs: expect.any(Number),
        endedMs: expect.any(Number),
        outcome: "answered",
        exit: expect.objectContaining({ exitCode: 0, signal: undefined }),
        promptBytes: 7,
        directory: TURN.directory,
        facts: { changedExecutablePaths: [], changedFiles: NO_CHANGES, timeoutMs: 1000, denied: [], warnings: [] },
        answer: "done.",
        timedOut: false,
        retried: false,
        error: undefined,
        egress: undefined,
        usage: undefined,
      },
    ]);
    const times = [before, runs[0]?.startedMs, runs[0]?.endedMs, Date.now()];
    expect(times).toEqual(times.toSorted((a = 0, b = 0) => a - b));
  });

  it("names the client on one short line, as it named itself", async () => {
    const { runs, runTurn } = createLoggedTurns(() => ({}));

    await runTurn(TURN, { client: `\u001B[2Jclaude\n\n \u202Ecode${"x".repeat(500)}` });
    await runTurn(TURN, { client: "\n" });

    expect(runs.map(({ client }) => client)).toEqual([`claude code${"x".repeat(89)}`, undefined]);
  });

  it.each([undefined, "AGENT_CRASHED"] as const)(
    "has the first 200 calls of MCP tools, also if it fails: %s",
    async (crash) => {
      const call = { server: "github", tool: "get", durationMs: 1, outcome: "done" as const };
      const mcpCalls = Array.from({ length: 201 }, (_, index) => ({ ...call, durationMs: index }));
      const { runs, runTurn } = createLoggedTurns(() => ({}), undefined, { crash, mcpCalls });

      await runTurn(TURN).catch(() => undefined);

      expect(runs.at(-1)?.mcpCalls).toEqual(mcpCalls.slice(0, 200));
    },
  );

  it("is recorded when it begins, without waiting for the log, and its end afterwards", async () => {
    const order: string[] = [];
    const begun: BegunRun[] = [];
    let startedRunning = (): void => undefined;
    const running = new Promise<void>((resolve) => (startedRunning = resolve));
    const program: FakeProgram = () => {
      order.push("ran");
      startedRunning();
      return {};
    };
    const begin: RunLog["begin"] = async (run) => {
      await running;
      await sleep(50);
      order.push("begun");
      begun.push(run);
    };
    const { runTurn } = createLoggedTurns(program, async () => void order.push("finished"), { log: { begin } });

    const { runId, sessionId } = await runTurn(TURN);

    expect(order).toEqual(["ran", "begun", "begun", "finished"]);
    expect(begun).toMatchObject([
      { id: runId, agent: "tester", sessionId: undefined, promptBytes: 7, directory: TURN.directory },
      { id: runId, sessionId },
    ]);
  });

  it("is recorded when it fails too, with its process's exit and the hosts it reached", async () => {
    const program: FakeProgram = () => ({ exit: { exitCode: undefined, signal: "SIGKILL" } });
    const { runs, runTurn } = createLoggedTurns(program, undefined, { crash: "AGENT_CRASHED" });

    await failureOf(runTurn(TURN));

    expect(runs).toMatchObject([
      {
        outcome: "AGENT_CRASHED",
        error: "It crashed.",
        exit: { signal: "SIGKILL" },
        retried: true,
        answer: undefined,
      },
    ]);
  });

  it("is recorded if it has no session, and if it fails with a bug", async () => {
    const { runner, runs, runTurn } = createLoggedTurns(() => {
      throw new TypeError("oops");
    });

    await expect(runTurn(TURN)).rejects.toThrow(TypeError);
    runner.openSession = () => Promise.reject(new BudgieError("RUNNER_UNAVAILABLE", "no engine"));
    await failureOf(runTurn(TURN));

    expect(runs).toMatchObject([
      { outcome: "BUG", error: "oops", exit: undefined },
      { outcome: "RUNNER_UNAVAILABLE", error: "no engine", sessionId: undefined, exit: undefined },
    ]);
  });

  it.each([undefined, "AGENT_CRASHED"] as const)(
    "has what its sandbox could do, and bounds what was seen of it, also if it fails: %s",
    async (crash) => {
      const image = { used: "default", reason: "unknown", file: "/x/Dockerfile.sandbox" } as const;
      const denied = Array.from({ length: 101 }, (_, index) => `tool-${index}`);
      const { runs, runTurn } = createLoggedTurns(() => ({}), undefined, {
        crash,
        denied,
        isolation: "container",
        provided: { env: {}, project: image, image: "node:22", credentials: "full" },
        warning: "x".repeat(2000),
      });

      await runTurn(TURN).catch(() => undefined);

      expect(runs.at(-1)?.facts).toEqual({
        access: { workspace: "rw", egress: "bridge" },
        image,
        sandbox: { image: "node:22", credentials: "full" },
        timeoutMs: 1000,
        tools: [{ name: "edit", count: crash === undefined ? 1 : 2 }],
        changedExecutablePaths: [],
        changedFiles: NO_CHANGES,
        denied: crash === undefined ? denied.slice(0, 100) : [],
        warnings: expect.arrayContaining(["x".repeat(1000)]),
      });
      expect(runs.at(-1)?.facts?.warnings).not.toContain("x".repeat(2000));
    },
  );

  it("has an error message of limited length", async () => {
    const { runs, runTurn } = createLoggedTurns(() => {
      throw new BudgieError("AGENT_FAILED", "x".repeat(100_000));
    });

    await failureOf(runTurn(TURN));

    expect(runs[0]?.error).toHaveLength(4000);
  });

  it("is not recorded if it was refused before it began", async () => {
    const { runs, runTurn } = createLoggedTurns(() => ({}));

    await failureOf(runTurn({ ...TURN, agent: "x" }));
    await failureOf(runTurn({ ...TURN, prompt: "" }));
    await failureOf(runTurn({ ...TURN, directory: "src" }));

    expect(runs).toEqual([]);
  });
});
