import { expect, it } from "vitest";
import { createRunTurn, toTurnLimits, type Protocol, type TurnProgress } from "@budgie/core";
import { createFakeRunner, type FakeProgram } from "@budgie/testkit";
import { createSessionBook } from "../src/session-book.ts";
import { AGENT } from "./helpers/agent.ts";

const TURN = { agent: AGENT.name, prompt: "x", directory: import.meta.dirname };

const runOnce: Protocol = async ({ directory, session }) => {
  const { exit } = await session.start({ argv: ["x"], env: {}, projections: [] }, { directory, input: "" });
  return { response: "done", file: undefined, exit: await exit, denied: [], warnings: [] };
};

it("A session stays while a turn of it waits for others, however long nobody has used it", async () => {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  let program: FakeProgram = () => ({});
  const runner = createFakeRunner((run) => program(run));
  const sessions = createSessionBook(runner);
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner,
    sessions,
    protocol: runOnce,
    turnLimits: toTurnLimits({ concurrent: 1 }, runner.capacity),
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: [] },
  });
  const { sessionId } = await runTurn(TURN);
  program = () => gate.then(() => ({}));

  const other = runTurn(TURN);
  const told: TurnProgress[] = [];
  const waiting = runTurn({ ...TURN, sessionId }, { onProgress: (progress) => void told.push(progress) });
  while (told.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await sessions.expireIdle(-1);
  release();
  await other;

  const { runId } = await waiting;
  const known = { agent: "tester", runId, sessionId, sinceMs: expect.any(Number) };
  expect(told).toEqual([
    { ...known, phase: "waiting", position: 1 },
    { ...known, phase: "starting" },
    { ...known, phase: "running", tries: 1 },
  ]);
});
