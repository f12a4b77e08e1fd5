import { listLimits, type BudgetLimit, type ScopedBudget } from "../../budget/budget.ts";
import type { Standing } from "../../budget/budget-ledger.ts";
import { formatOwner, formatRemedy, formatStanding } from "../../budget/format-standing.ts";
import { toAmounts } from "../../budget/to-amounts.ts";
import { BudgieError } from "../../errors.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";
import { watchBudget } from "../watch-budget.ts";

/** The turns of one call where agents may call agents, its own included, unless a budget says otherwise */
const NESTED_TURNS = 20;

// For what is neither an attempt's time nor a pause: images, containers, their ends.
const SLACK_MS = 15 * 60_000;
const MINUTE_MS = 60_000;

/** Reserves what the turn may use (`BUDGET_SPENT`), stops it if it uses more, and afterwards counts what it used. */
export function reserveBudget({ budgets, nesting, retryDelayMs }: TurnSettings): Step {
  if (budgets === undefined) return async (_turn, next) => next();
  const { budgetsOf, ledger } = budgets;
  const isToldOf = createOnce();

  async function reserve(turn: Turn, limits: readonly BudgetLimit[]) {
    const { id: runId, request, resumed } = turn;
    const endsMs = Date.now() + 2 * request.policy.timeoutMs + retryDelayMs + SLACK_MS;
    const { rootSession } = nesting;
    const reserved = await ledger.reserve({ runId, sessionId: resumed?.id, rootSession, endsMs, limits });
    if (reserved.spent !== undefined) throw spentError(reserved.spent, turn);
    if (resumed === undefined) {
      turn.events.once("session", (sessionId) => {
        const bound = ledger.bind(runId, sessionId);
        // The session may not get as far as to wait for it.
        bound.catch(() => undefined);
        turn.ready.push(bound);
      });
    }
    return reserved.caps;
  }

  /** Counts what the turn used: nothing if it did not get as far as an attempt. */
  async function settle(turn: Turn, clock: number): Promise<void> {
    const minutes = (performance.now() - clock) / MINUTE_MS;
    const known = { turns: 1, minutes, ...toAmounts(turn.report.usage) };
    try {
      const standings = await ledger.settle(turn.id, turn.attempts === 0 ? undefined : known);
      const near = standings.filter(isNearlySpent);
      turn.warn(...near.map(formatNotice));
      tellCrossed(turn, near, known);
      if (turn.attempts > 0) turn.warn(...listUnknown(turn, standings, Object.keys(known)).filter(isToldOf));
    } catch (error) {
      // The turn has been answered, or has an error of its own.
      turn.warn(
        `Its budget could not be settled, so it counts with what it reserved until another turn begins: ${(error as Error).message}`,
      );
    }
  }

  return async (turn, next) => {
    const { agent, directory } = turn.request;
    const scoped = [...budgetsOf(agent.name, directory), ...toCallBudget(turn)];
    refuseLooser(scoped);
    const counted = { runId: turn.id, sessionId: turn.resumed?.id, now: new Date() };
    // Only budgies without a sandbox around them share a state.
    const isShared = turn.route.runner.isolation === "none";
    const own = listLimits(scoped, counted);
    const limits = isShared ? withBreadth(own, turn.id, nesting.most) : own;
    if (limits.length === 0 && nesting.rootSession === undefined) return next();
    const watch = watchBudget(turn, await reserve(turn, limits));
    const clock = performance.now();
    try {
      return await next();
    } catch (error) {
      throw watch.toError(error);
    } finally {
      watch.end();
      await settle(turn, clock);
    }
  };
}

function toCallBudget({ asked }: Turn): readonly ScopedBudget[] {
  return asked.budget === undefined ? [] : [{ scope: "call", budget: { turn: asked.budget } }];
}

/** Throws `INPUT_INVALID` for a call that asks for more than is configured for a call. */
function refuseLooser(scoped: readonly ScopedBudget[]): void {
  const asked = scoped.find(({ scope }) => scope === "call")?.budget.turn ?? {};
  for (const { budget, scope } of scoped) {
    if (scope === "call") continue;
    for (const [unit, most] of Object.entries(budget.turn ?? {})) {
      const wish = asked[unit];
      if (wish === undefined || wish <= most) continue;
      throw new BudgieError(
        "INPUT_INVALID",
        `The argument "budget" cannot allow ${wish} ${unit}: ${formatOwner({ scope, window: "turn" })} may use ${most}, and a call can only ask for less. Leave it out.`,
      );
    }
  }
}

/** Adds the default limit of nested turns, where agents may call agents and no budget limits them. */
function withBreadth(limits: readonly BudgetLimit[], runId: string, most: number): readonly BudgetLimit[] {
  if (most <= 1 || limits.some(({ unit, window }) => window === "turn" && unit === "turns")) return limits;
  return [...limits, { scope: "all", window: "turn", period: `turn ${runId}`, unit: "turns", most: NESTED_TURNS }];
}

function spentError(spent: Standing, { request: { agent }, resumed }: Turn): BudgieError {
  return new BudgieError(
    "BUDGET_SPENT",
    `The agent "${agent.name}" was not started: the budget of ${formatOwner(spent)} is spent, ${formatStanding(spent)}. ${formatRemedy(spent, new Date())}`,
    { report: { sessionId: resumed?.id } },
  );
}

const NOTICE_SHARE = 0.8;

/** Returns true for a limit of a session or a day that is nearly used up. */
function isNearlySpent({ most, used, window }: Standing): boolean {
  return window !== "turn" && used >= most * NOTICE_SHARE;
}

function formatNotice(standing: Standing): string {
  return `The budget of ${formatOwner(standing)} is nearly spent: ${formatStanding(standing)}.`;
}

/** Tells the limits that were not nearly used up before this turn: who heard of each further turn would soon listen no more. */
function tellCrossed(turn: Turn, near: readonly Standing[], known: Readonly<Record<string, number | undefined>>): void {
  if (turn.attempts === 0) return;
  const crossed = near.filter((one) => !isNearlySpent({ ...one, used: one.used - (known[one.unit] ?? 0) }));
  for (const standing of crossed) turn.events.emit("budget", formatNotice(standing));
}

/** Lists the units of the turn's limits that its program did not report. */
function listUnknown(turn: Turn, standings: readonly Standing[], known: readonly string[]): readonly string[] {
  const units = new Set(standings.map(({ unit }) => unit).filter((unit) => !known.includes(unit)));
  return [...units].map(
    (unit) =>
      `The program of the agent "${turn.request.agent.name}" did not report its ${unit}: such a turn counts as what a call may use, and as nothing if that is not limited. Limit turns and minutes too.`,
  );
}

/** Creates a filter that passes each text once. */
function createOnce(): (text: string) => boolean {
  const told = new Set<string>();
  return (text) => !told.has(text) && told.add(text) !== undefined;
}
