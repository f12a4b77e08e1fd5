import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BudgieError, createRunTurn, type ErrorCode } from "@budgie/core";
import type { Policy, WorkspaceRules } from "@budgie/core/policy";
import type { Protocol } from "@budgie/core/protocol";
import { createMemoryRunLog, buildHealthReport } from "@budgie/core/runs";
import type { TurnDependencies } from "@budgie/core/turn";
import { failureOf, createFakeRunner, type FakeProgram } from "@budgie/testkit";
import { AGENT } from "../../helpers/agent.ts";
import { WITHOUT_SESSION } from "../../helpers/without-session.ts";
import { createTemporaryFolder } from "../../helpers/temporary-folder.ts";

const TURN = { agent: "tester", prompt: "x", directory: import.meta.dirname };

describe("a turn", () => {
  it("refuses an unknown agent, and names the known ones", async () => {
    const { runTurn, runner } = create(() => ({}));

    expect(await failureOf(runTurn({ ...TURN, agent: "x" }))).toMatchObject({
      code: "AGENT_NOT_FOUND",
      message: 'There is no agent "x". Known agents: "tester".',
    });
    expect(runner.homes.size).toBe(0);
  });

  it.each(["", "  \n\t"])("refuses the empty prompt %j", async (prompt) => {
    const { runTurn, runner } = create(() => ({}));

    expect(await failureOf(runTurn({ ...TURN, prompt }))).toMatchObject({ code: "INPUT_INVALID" });
    expect(runner.homes.size).toBe(0);
  });

  it("refuses a bad directory and a bad session before it creates anything", async () => {
    const { runTurn, runner } = create(() => ({}));
    const unknown = "1b4e28ba-2fa1-4d2c-883f-0016d3cca427";

    expect(await failureOf(runTurn({ ...TURN, directory: "src" }))).toMatchObject({ code: "WORKSPACE_INVALID" });
    expect(await failureOf(runTurn({ ...TURN, sessionId: "../../x" }))).toMatchObject({ code: "INPUT_INVALID" });
    expect(await failureOf(runTurn({ ...TURN, sessionId: unknown }))).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(runner.homes.size).toBe(0);
  });

  it("counts as failed if its session could not be created", async () => {
    const openSession = () => Promise.reject(new BudgieError("RUNNER_UNAVAILABLE", "no engine"));
    const runLog = createMemoryRunLog();
    const runner = { ...createFakeRunner(() => ({})), openSession };
    const runTurn = createRunTurn({
      agents: () => [AGENT],
      runner,
      protocol: runOnce,
      runLog,
      policyOf: () => POLICY,
      workspaceRules: ANYWHERE,
    });

    expect(await failureOf(runTurn(TURN))).toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    const { agents } = buildHealthReport(await runLog.outcomes(9), { agents: [], isolation: "none" });
    expect(agents).toMatchObject([{ totalCalls: 1, failedCalls: 1 }]);
  });

  it("returns the runner's warnings about isolation", async () => {
    const { runTurn } = create(() => ({}), { notices: ["You are root."] });

    expect((await runTurn(TURN)).warnings).toEqual(["You are root.", "from the protocol"]);
  });

  it("names the directory that the agent worked in, also when it fails", async () => {
    const folder = createTemporaryFolder();
    mkdirSync(join(folder, "real"));
    symlinkSync("real", join(folder, "link"));
    const turn = { ...TURN, directory: join(folder, "link") };
    const working = create(() => ({}));
    const failing = create(refusing("IMAGE_NOT_FOUND"));

    expect(await working.runTurn(turn)).toMatchObject({ directory: join(folder, "real") });
    expect((await failureOf(failing.runTurn(turn))).report).toMatchObject({ directory: join(folder, "real") });
  });

  it.each<ErrorCode>(["RUNNER_UNAVAILABLE", "IMAGE_NOT_FOUND", "LOGIN_REQUIRED"])(
    "ends the session whose first process was refused with %s",
    async (code) => {
      const { runTurn, runner } = create(refusing(code));

      expect(await failureOf(runTurn(TURN))).toMatchObject({ code, report: WITHOUT_SESSION });
      expect(runner.homes.size).toBe(0);
    },
  );

  it("ends a session whose first process failed to start because of a bug, which is passed on", async () => {
    const { runTurn, runner } = create(() => {
      throw new TypeError("oops");
    });

    await expect(runTurn(TURN)).rejects.toThrow(TypeError);
    expect(runner.homes.size).toBe(0);
  });

  it("keeps a session whose later process failed to start", async () => {
    let program: FakeProgram = () => ({});
    const { runTurn, runner } = create((run) => program(run));
    const { sessionId } = await runTurn(TURN);
    program = refusing("RUNNER_UNAVAILABLE");

    const error = await failureOf(runTurn({ ...TURN, sessionId }));
    expect(error).toMatchObject({ code: "RUNNER_UNAVAILABLE", report: { sessionId } });
    expect(runner.homes.size).toBe(1);
  });

  it.each(["SESSION_UNUSABLE", "DISK_LIMIT"] as const)(
    "ends a session after %s, and every turn queued for it",
    async (code) => {
      let program: FakeProgram = () => ({});
      const { runTurn, runner } = create((run) => program(run));
      const { sessionId } = await runTurn(TURN);
      program = refusing(code);

      const [first, queued] = await Promise.all([
        failureOf(runTurn({ ...TURN, sessionId })),
        failureOf(runTurn({ ...TURN, sessionId })),
      ]);

      expect(first).toMatchObject({ code, report: WITHOUT_SESSION });
      expect(queued).toMatchObject({ code: "SESSION_NOT_FOUND", report: WITHOUT_SESSION });
      expect({ runs: runner.runs.length, homes: runner.homes.size }).toEqual({ runs: 2, homes: 0 });
    },
  );

  it("says why a turn failed even if its session cannot be removed", async () => {
    const remove = () => Promise.reject(new BudgieError("RUNNER_UNAVAILABLE", "no engine"));
    const { runTurn } = create(refusing("IMAGE_NOT_FOUND"), { remove });

    expect(await failureOf(runTurn(TURN))).toMatchObject({ code: "IMAGE_NOT_FOUND" });
  });

  it("holds every process to the agent's policy and the call's restrictions, whatever the protocol asks for", async () => {
    const seen: number[] = [];
    const protocol: Protocol = async (turn) => {
      seen.push(turn.timeoutMs);
      const access = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {} } as const;
      const { session, directory } = turn;
      await session.start({ argv: ["x"], env: {}, projections: [] }, { directory, input: "", access });
      return runOnce(turn);
    };
    const egress = { mode: "none", hosts: [] } as const;
    const policy = { egress, limits: { pids: 50 } } as const;
    const { runTurn, runner } = create(() => ({}), { policy, protocol });

    await runTurn({ ...TURN, tightening: { workspace: "ro", timeoutMs: 500 } });
    await runTurn(TURN);

    expect(runner.runs.map(({ options }) => options.access)).toEqual([
      { workspace: "ro", egress, limits: { pids: 50 } },
      { workspace: "ro", egress, limits: { pids: 50 } },
      { workspace: "rw", egress, limits: { pids: 50 } },
      { workspace: "rw", egress, limits: { pids: 50 } },
    ]);
    expect(seen).toEqual([500, 1000]);
  });

  it("shows every process the mounts of its directory and the hooks of its run, after what its protocol asks for", async () => {
    const own = { source: "/agents/a.json", home: ".kiro/agents/a.json" };
    const protocol: Protocol = async (turn) => {
      await turn.session.start({ argv: ["x"], env: {}, projections: [own] }, { directory: turn.directory, input: "" });
      return runOnce(turn);
    };
    const providedFor = (_: unknown, _at: string, id: string) => ({ env: {}, mounts: ["/srv"], commitHooks: id });
    const { runTurn, runner } = create(() => ({}), { protocol, providedFor });

    const { runId } = await runTurn(TURN);

    const mount = { source: "/srv", home: undefined, isRequired: true };
    const added = [mount, { source: runId, home: undefined }];
    expect(runner.runs.map(({ command }) => command.projections)).toEqual([[own, ...added], added]);
  });

  it.each([
    [{ workspace: "rw" }, 'The argument "workspace" cannot be "rw": this agent is allowed "ro"'],
    [{ egress: "open" }, 'The argument "egress" cannot be "open": this agent is allowed "none"'],
    [{ timeoutMs: 2000 }, 'The argument "timeout" cannot be "2s": this agent is allowed "1s"'],
  ] as const)("refuses a call that asks for %j if its agent is allowed less", async (tightening, message) => {
    const { runTurn, runner } = create(() => ({}), {
      policy: { workspace: "ro", egress: { mode: "none", hosts: [] } },
    });

    expect(await failureOf(runTurn({ ...TURN, tightening }))).toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining(message),
    });
    expect(runner.homes.size).toBe(0);
  });

  it("refuses a forbidden directory before it creates anything", async () => {
    const { runTurn, runner } = create(() => ({}), {
      workspaceRules: { allowedRoots: [{ named: "/nowhere", path: "/nowhere" }] },
    });

    expect(await failureOf(runTurn(TURN))).toMatchObject({ code: "WORKSPACE_INVALID" });
    expect(runner.homes.size).toBe(0);
  });
});

/** Creates a protocol that runs one process and requires nothing of it. */
const runOnce: Protocol = async ({ directory, session, signal }) => {
  const process = await session.start({ argv: ["x"], env: {}, projections: [] }, { directory, input: "", signal });
  return { response: "done", file: undefined, exit: await process.exit, denied: [], warnings: ["from the protocol"] };
};

const ANYWHERE: WorkspaceRules = { allowedRoots: [], guarded: undefined };
const POLICY: Policy = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 };

type Oddities = {
  readonly notices?: readonly string[];
  readonly policy?: Partial<Policy>;
  readonly protocol?: Protocol;
  readonly providedFor?: TurnDependencies["providedFor"];
  readonly remove?: () => Promise<void>;
  readonly workspaceRules?: Partial<WorkspaceRules>;
};

function create(program: FakeProgram, options: Oddities = {}) {
  const { notices = [], policy, protocol = runOnce, providedFor, workspaceRules, ...oddities } = options;
  const runner = createFakeRunner(program, notices);
  const openSession: typeof runner.openSession = async (id) => ({ ...(await runner.openSession(id)), ...oddities });
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner: { ...runner, openSession },
    protocol,
    policyOf: () => ({ ...POLICY, ...policy }),
    workspaceRules: { ...ANYWHERE, ...workspaceRules },
    ...(providedFor === undefined ? {} : { providedFor }),
  });
  return { runner, runTurn };
}

function refusing(code: ErrorCode): FakeProgram {
  return () => {
    throw new BudgieError(code, "refused");
  };
}
