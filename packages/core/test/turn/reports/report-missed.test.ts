import { describe, expect, it } from "vitest";
import { BudgieError, createRunTurn } from "@budgie/core";
import type { Protocol } from "@budgie/core/protocol";
import { createMemoryRunLog } from "@budgie/core/runs";
import { failureOf, createFakeRunner } from "@budgie/testkit";
import { AGENT } from "../../helpers/agent.ts";

const TURN = { agent: "tester", prompt: "x", directory: import.meta.dirname };

describe("an undelivered answer of a session", () => {
  it("is reported with the session's next answer, until it is delivered", async () => {
    const { runLog, runTurn } = create();
    const first = await runTurn(TURN);
    const turn = { ...TURN, sessionId: first.sessionId };

    const second = await runTurn(turn);
    await runLog.delivered([first.runId, second.runId]);
    const third = await runTurn(turn);

    expect(first.missed).toEqual([]);
    expect(second.missed).toEqual([
      { runId: first.runId, response: "Answer 1.", when: expect.stringMatching(/^2.*Z$/) },
    ]);
    expect(third).toMatchObject({ response: "Answer 3.", missed: [] });
  });

  it("is counted if it does not fit into the next answer's message", async () => {
    const { runLog, runTurn } = create({ text: "x".repeat(99_000) });
    const { sessionId } = await runTurn(TURN);
    const turn = { ...TURN, sessionId };
    for (let more = 0; more < 3; more++) await runTurn(turn);

    const fifth = await runTurn(turn);
    await runLog.delivered([fifth.runId, ...fifth.missed.map(({ runId }) => runId)]);
    const sixth = await runTurn(turn);

    expect(fifth).toMatchObject({ missed: { length: 2 }, moreMissed: 2 });
    expect(sixth.missed).toHaveLength(2);
    expect(sixth).not.toHaveProperty("moreMissed");
  });

  it("is reported with the session's next failure", async () => {
    const { runTurn } = create({ fails: (turn) => turn === 2 });
    const { runId, sessionId } = await runTurn(TURN);

    const error = await failureOf(runTurn({ ...TURN, sessionId }));

    expect(error).toMatchObject({ code: "AGENT_FAILED", report: { missed: [{ runId, response: "Answer 1." }] } });
  });

  it("is reported with the error that the session does not exist", async () => {
    const { runLog, runTurn } = create();
    const { runId, sessionId } = await runTurn(TURN);
    const restarted = create({ runLog });

    const error = await failureOf(restarted.runTurn({ ...TURN, sessionId }));

    expect(error).toMatchObject({ code: "SESSION_NOT_FOUND", report: { missed: [{ runId }] } });
  });

  it("is not reported to a call with another agent or directory", async () => {
    const { runTurn } = create();
    const { sessionId } = await runTurn(TURN);

    const errors = [
      await failureOf(runTurn({ ...TURN, sessionId, agent: "other" })),
      await failureOf(runTurn({ ...TURN, sessionId, directory: "/" })),
    ];

    expect(errors).toMatchObject(Array(2).fill({ code: "INPUT_INVALID", report: { missed: [] } }));
  });

  it("is one that was on its way when the turn began to wait, if it did not arrive", async () => {
    const { runLog, runTurn } = create();
    const { sessionId, runId } = await runTurn(TURN);
    await runLog.delivered([runId]);
    const turn = { ...TURN, sessionId };

    const arriving = runTurn(turn).then((reply) => runLog.delivered([reply.runId]));
    const after = runTurn(turn);
    const last = runTurn(turn);
    await arriving;

    expect((await after).missed).toEqual([]);
    expect((await last).missed).toMatchObject([{ runId: (await after).runId }]);
  });
});

type Options = {
  readonly fails?: (turn: number) => boolean;
  readonly runLog?: ReturnType<typeof createMemoryRunLog>;
  /** Follows the turn's number in each answer */
  readonly text?: string;
};

function create({ fails = () => false, runLog = createMemoryRunLog(), text = "" }: Options = {}) {
  let turns = 0;
  const protocol: Protocol = async ({ directory, session }) => {
    const child = await session.start({ argv: ["x"], env: {}, projections: [] }, { directory, input: "" });
    const exit = await child.exit;
    if (fails(++turns)) throw new BudgieError("AGENT_FAILED", "It failed.");
    return { response: `Answer ${turns}.${text}`, file: undefined, exit, denied: [], warnings: [] };
  };
  const runTurn = createRunTurn({
    agents: () => [AGENT, { ...AGENT, name: "other" }],
    runner: createFakeRunner(() => ({})),
    protocol,
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    runLog,
  });
  return { runLog, runTurn };
}
