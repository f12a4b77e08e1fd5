import { BudgieError, createRunTurn } from "@budgie/core";
import type { Isolation } from "@budgie/core/owners";
import type { Protocol } from "@budgie/core/protocol";
import { createMemoryRunLog, type FinishedRun, type McpCall, type RunLog } from "@budgie/core/runs";
import type { Provided, Step } from "@budgie/core/turn";
import { createFakeRunner, type FakeProgram } from "@budgie/testkit";
import { AGENT } from "./agent.ts";

const COMMAND = { argv: ["x"], env: {}, projections: [], login: "kiro" } as const;

type Options = {
  readonly crash?: "AGENT_CRASHED" | undefined;
  readonly log?: Partial<RunLog>;
  readonly mcpCalls?: readonly McpCall[];
  readonly denied?: readonly string[];
  readonly isolation?: Isolation;
  readonly provided?: Provided;
  readonly warning?: string;
};

/** Creates turns whose records are collected. */
export function createLoggedTurns(
  program: FakeProgram,
  onRecord = async (): Promise<void> => undefined,
  options: Options = {},
) {
  const { crash, denied = [], log = {}, provided = { env: {} }, warning } = options;
  const runs: FinishedRun[] = [];
  const runner = {
    ...createFakeRunner(program),
    ...(options.isolation === undefined ? {} : { isolation: options.isolation }),
  };
  const protocol: Protocol = async ({ directory, events, session }) => {
    if (options.isolation !== undefined) events.emit("tool", "edit");
    for (const call of options.mcpCalls ?? []) events.emit("mcpCall", call);
    const child = await session.start(COMMAND, { directory, input: "" });
    const exit = await child.exit;
    if (crash !== undefined) throw new BudgieError(crash, "It crashed.");
    return { response: "done.", file: undefined, exit, denied, warnings: [] };
  };
  const warn: Step = async (turn, next) => {
    if (warning !== undefined) turn.warn(warning);
    return next();
  };
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner,
    protocol,
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    retryDelayMs: 1,
    agentSteps: [warn],
    providedFor: () => provided,
    runLog: {
      ...createMemoryRunLog(),
      async finish(run) {
        runs.push(run);
        await onRecord();
      },
      ...log,
    },
  });
  return { runner, runs, runTurn };
}
