import { createRunTurn, type Runner } from "@budgie/core";
import type { Amounts, Budget, BudgetLedger, Cap, ReservationWish, Standing } from "@budgie/core/budget";
import type { Nesting } from "@budgie/core/policy";
import type { ProtocolTurn } from "@budgie/core/protocol";
import type { UsageReport } from "@budgie/core/runs";
import type { TurnDependencies } from "@budgie/core/turn";
import { createFakeRunner } from "@budgie/testkit";
import { AGENT } from "./agent.ts";

/** A call of the agent. */
export const TURN = { agent: AGENT.name, prompt: "x", directory: import.meta.dirname };
/** A limit that is spent. */
export const CREDITS: Standing = {
  scope: "agent tester",
  window: "day",
  period: "day 2026-11-28",
  unit: "credits",
  most: 10,
  used: 10,
  reserved: 3,
};

type Given = {
  readonly budget?: Budget;
  readonly spent?: Standing;
  readonly caps?: readonly Cap[];
  readonly report?: UsageReport;
  readonly failure?: Error;
  readonly settle?: BudgetLedger["settle"];
  readonly openSession?: Runner["openSession"];
  readonly bind?: BudgetLedger["bind"];
  readonly nesting?: Nesting;
  readonly isolation?: Runner["isolation"];
  readonly work?: (turn: ProtocolTurn) => Promise<void>;
};

/** Creates turns with a ledger that says what it is told to. */
export function createBudgeted({ budget, caps = [], isolation = "none", nesting, settle, spent, ...given }: Given) {
  const [wishes, settled, bound]: [ReservationWish[], unknown[], unknown[]] = [[], [], []];
  const ledger: BudgetLedger = {
    async reserve(wish) {
      wishes.push(wish);
      return spent === undefined ? { caps } : { spent };
    },
    async bind(...names) {
      bound.push(names);
      await given.bind?.(...names);
    },
    async settle(run, used: Amounts | undefined) {
      settled.push(used);
      return settle === undefined ? [] : settle(run, used);
    },
    close: () => undefined,
  };
  const begun: string[] = [];
  const runner = createFakeRunner(async ({ options, session }) => {
    await options.ready;
    begun.push(session);
    return {};
  });
  const protocol: TurnDependencies["protocol"] = async (turn) => {
    const command = { argv: ["x"], env: {}, projections: [] } as const;
    const child = await turn.session.start(command, { directory: turn.directory, input: "", signal: turn.signal });
    await given.work?.(turn);
    if (given.report !== undefined) turn.events.emit("usage", given.report);
    if (given.failure !== undefined) throw given.failure;
    if (turn.signal?.aborted === true) await turn.session.start(command, { ...turn, input: "" });
    return { response: "done", file: undefined, exit: await child.exit, denied: [], warnings: [] };
  };
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner: { ...runner, isolation, ...(given.openSession === undefined ? {} : { openSession: given.openSession }) },
    protocol,
    policyOf: () => ({ workspace: "rw", egress: { mode: "open", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    budgets: {
      ledger,
      budgetsOf: () =>
        budget === undefined && spent === undefined
          ? []
          : [{ scope: "all", budget: budget ?? { day: { credits: 10 } } }],
    },
    ...(nesting === undefined ? {} : { nesting }),
  });
  return { runTurn, runner, wishes, settled, bound, begun };
}
