import { expect, it } from "vitest";
import { createRunTurn } from "@budgie/core";
import { TurnEvents, type Protocol, type TurnProgress } from "@budgie/core/protocol";
import { fillLimits } from "@budgie/core/turn";
import { createFakeRunner, type FakeProgram } from "@budgie/testkit";
import { createSessionStore } from "../../../src/sessions/session-store.ts";
import { AGENT } from "../../helpers/agent.ts";

const TURN = { agent: AGENT.name, prompt: "x", directory: import.meta.dirname };

const runOnce: Protocol = async ({ directory, session }) => {
  const { exit } = await session.start({ argv: ["x"], env: {}, projections: [] }, { directory, input: "" });
  return { response: "done", file: undefined, exit: await exit, denied: [], warnings: [] };
};

it("A session does not expire while a turn in it waits for others", async () => {
  const { gate, release, runTurn, sessions, setProgram } = createPlace();
  const { sessionId } = await runTurn(TURN);
  setProgram(() => gate.then(() => ({})));

  let other: Promise<unknown> = Promise.resolve();
  await new Promise<void>(
    (resolve) => void (other = runTurn(TURN, { events: new TurnEvents().on("phase", () => resolve()) })),
  );
  const reports: TurnProgress[] = [];
  const waiting = runTurn(
    { ...TURN, sessionId },
    { events: new TurnEvents().on("phase", (progress) => void reports.push(progress)) },
  );
  while (reports.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await sessions.expireIdle(-1);
  release();
  await other;

  const { runId } = await waiting;
  const known = { agent: "tester", runId, sessionId, sinceMs: expect.any(Number) };
  expect(reports).toEqual([
    { ...known, phase: "waiting", position: 1 },
    { ...known, phase: "starting" },
    { ...known, phase: "running", attempt: 1 },
  ]);
});

it("A session's second turn waits for the first, even while that one only opens the session", async () => {
  const { gate, release, runTurn, setProgram } = createPlace(4);
  setProgram(() => gate.then(() => ({})));
  const reports: TurnProgress[] = [];

  const opened = new Promise<string>((resolve) => {
    void runTurn(TURN, { events: new TurnEvents().on("session", resolve) });
  });
  const second = runTurn(
    { ...TURN, sessionId: await opened },
    { events: new TurnEvents().on("phase", (progress) => void reports.push(progress)) },
  );
  while (reports.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  release();
  await second;

  expect(reports.map(({ phase }) => phase)).toEqual(["waiting", "starting", "running"]);
});

/** Creates a place for this many turns at once, whose agent the test controls. */
function createPlace(concurrent = 1) {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  let program: FakeProgram = () => ({});
  const runner = createFakeRunner((run) => program(run));
  const sessions = createSessionStore(runner);
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner,
    sessions,
    protocol: runOnce,
    turnLimits: fillLimits({ concurrent }, runner.capacity),
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
  return { runTurn, sessions, gate, release, setProgram: (next: FakeProgram) => void (program = next) };
}

it("A turn whose agent is removed while it waits is refused, and no process is started for it", async () => {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  let runs = 0;
  let agents = [AGENT];
  const runner = createFakeRunner(() => {
    runs++;
    return gate.then(() => ({}));
  });
  const runTurn = createRunTurn({
    agents: () => agents,
    runner,
    protocol: runOnce,
    turnLimits: fillLimits({ concurrent: 1 }, runner.capacity),
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
  const reports: TurnProgress[] = [];
  const first = runTurn(TURN);
  while (runs === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const waiting = runTurn(TURN, { events: new TurnEvents().on("phase", (progress) => void reports.push(progress)) });
  while (reports.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  agents = [];
  release();

  await expect(waiting).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
  // The turn that already ran continues.
  await expect(first).resolves.toMatchObject({ response: "done" });
  expect(runs).toBe(1);
});
