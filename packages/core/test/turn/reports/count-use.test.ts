import { describe, expect, it, onTestFinished, vi } from "vitest";
import { BudgieError, createRunTurn, type EgressMode, type EgressReport, type Runner } from "@budgie/core";
import type { Isolation } from "@budgie/core/owners";
import { TurnEvents, type Protocol } from "@budgie/core/protocol";
import { failureOf, createFakeRunner, type FakeEnd } from "@budgie/testkit";
import { AGENT } from "../../helpers/agent.ts";

const TURN = { agent: "tester", prompt: "x", directory: import.meta.dirname };
const WEB = { host: "web.test", port: 443, count: 2 };
const REFUSED = { host: "evil.test", port: 443, count: 1, why: "not on the allow-list" };

describe("a turn", () => {
  it("reports the allowed, denied and unreachable hosts of all its processes together", async () => {
    const { runTurn } = create({ processes: 2, report: { allowed: [WEB], denied: [REFUSED], failed: [REFUSED] } });

    expect((await runTurn(TURN)).egress).toEqual({
      allowed: [{ ...WEB, count: 4 }],
      denied: [{ ...REFUSED, count: 2 }],
      failed: [{ ...REFUSED, count: 2 }],
    });
  });

  it("reports at most 200 denied hosts by name, and adds up all others", async () => {
    const denied = Array.from({ length: 300 }, (_, at) => ({ ...REFUSED, host: `${at}.test` }));
    const { runTurn } = create({ processes: 2, report: { allowed: [], denied } });

    const { egress } = await runTurn(TURN);

    expect(egress?.denied).toHaveLength(201);
    expect(egress?.denied[0]).toEqual({ ...REFUSED, host: "0.test", count: 2 });
    expect(egress?.denied.at(-1)).toEqual({ ...REFUSED, host: "(others)", port: 0, count: 200 });
  });

  it("tells its caller each second what came since, and reports that in the end too", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const since = [
      { allowed: [WEB], denied: [] },
      { allowed: [], denied: [REFUSED] },
    ];
    const { end, runTurn } = createLong(since);
    const told: EgressReport[] = [];

    const phases: string[] = [];
    const events = new TurnEvents();
    events.on("phase", ({ phase }) => void phases.push(phase));
    events.on("egress", (report) => void told.push(report));
    const turn = runTurn(TURN, { events });
    await vi.waitFor(() => expect(phases).toContain("running"));
    await vi.advanceTimersByTimeAsync(2_000);
    end();
    const { egress } = await turn;
    await vi.advanceTimersByTimeAsync(5_000);

    expect(told).toEqual(since);
    expect(egress).toEqual({ allowed: [WEB], denied: [REFUSED] });
  });

  it("reports nothing if the network was not monitored", async () => {
    expect((await create({ processes: 1 }).runTurn(TURN)).egress).toBeUndefined();
  });

  it("reports them when it fails too", async () => {
    const failure = new BudgieError("AGENT_FAILED", "x");
    const { runTurn } = create({ processes: 1, report: { allowed: [], denied: [REFUSED] }, failure });

    expect(await failureOf(runTurn(TURN))).toMatchObject({
      code: "AGENT_FAILED",
      report: { egress: { allowed: [], denied: [REFUSED] } },
    });
  });

  it.each<[Isolation, EgressMode, number]>([
    ["container", "bridge", 1],
    ["container", "open", 0],
    ["container", "allowlist", 0],
    ["none", "bridge", 0],
  ])("with the isolation %j and the egress mode %j has %i warnings of an unmonitored network", async (...row) => {
    const [isolation, mode, count] = row;

    const { warnings } = await create({ processes: 1, isolation, mode }).runTurn(TURN);

    expect(warnings.filter((warning) => /"bridge".*not monitored/.test(warning))).toHaveLength(count);
  });
});

type Oddities = {
  readonly processes: number;
  readonly report?: EgressReport;
  readonly failure?: BudgieError;
  readonly isolation?: Isolation;
  readonly mode?: EgressMode;
  readonly runner?: Runner;
};

function create({ failure, isolation = "container", mode = "allowlist", processes, report, ...given }: Oddities) {
  const protocol: Protocol = async ({ directory, session, signal }) => {
    const command = { argv: ["x"], env: {}, projections: [] } as const;
    for (let count = 1; count < processes; count++) await session.start(command, { directory, input: "", signal });
    const child = await session.start(command, { directory, input: "", signal });
    if (failure !== undefined) throw failure;
    return { response: "done", file: undefined, exit: await child.exit, denied: [], warnings: [] };
  };
  const { runner = createFakeRunner(() => (report === undefined ? {} : { egress: report })) } = given;
  const policy = { workspace: "rw", egress: { mode, hosts: [] }, limits: {}, timeoutMs: 1000 } as const;
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner: { ...runner, isolation },
    protocol,
    policyOf: () => policy,
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
  return { runTurn };
}

/** Creates a turn whose process runs until it is ended, with these reports of its network on the way. */
function createLong(since: readonly EgressReport[]) {
  let end = (): void => undefined;
  const ended = new Promise<FakeEnd>((resolve) => (end = () => resolve({})));
  const nothing: EgressReport = { allowed: [], denied: [] };
  const reports = [...since];
  const runner = createFakeRunner(() => ended);
  const openSession: Runner["openSession"] = async (id) => {
    const session = await runner.openSession(id);
    const egress = async (): Promise<EgressReport> => reports.shift() ?? nothing;
    return {
      ...session,
      start: async (...args) => ({ ...(await session.start(...args)), egress }),
    };
  };
  return { end, runTurn: create({ processes: 1, runner: { ...runner, openSession } }).runTurn };
}
