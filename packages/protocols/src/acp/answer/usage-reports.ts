import { z } from "zod";
import type { TurnEvents } from "@budgie/core/protocol";
import { addTokens, withoutFloatError, type TokenFigures, type UsageReport } from "@budgie/core/runs";
import { parseCount, parseQuota, parseTokens } from "./parse-tokens.ts";

/** The cost of an attempt, collected from its agent's reports. */
export type UsageReports = {
  /** Takes a `usage_update` of ACP, Kiro's metadata in that form, or the report with which its V3 harness completes a turn. */
  readonly add: (update: Readonly<Record<string, unknown>>) => void;
  /** Takes the metadata of a message, in which Qwen Code counts each request to its model. */
  readonly addRequest: (meta: unknown) => void;
  /** Takes the figures in the answer to the prompt. */
  readonly addAnswer: (answer: { readonly usage?: unknown; readonly _meta?: unknown }) => void;
};

export type UsageOptions = {
  /** Tell the latest figures after each change */
  readonly events: TurnEvents;
  /** The name by which the program introduced itself, which tells the basis of its tokens */
  readonly program: string | undefined;
  /** The model that budgie asked for; `undefined` if the program chose it */
  readonly model: string | undefined;
  /** The basis of the tokens in the answer to the prompt; `undefined` for that of a known program */
  readonly basis: UsageReport["basis"];
};

/** The basis of the tokens in a program's answer to a prompt. ACP says "across all turns", and no program does so. */
const BASES: ReadonlyMap<string, UsageReport["basis"]> = new Map([
  ["@agentclientprotocol/claude-agent-acp", "turn"],
  ["codex-acp", "request"],
  ["OpenCode", "request"],
]);

const [GEMINI, QWEN] = ["gemini-cli", "qwen-code"];

/** Creates the cost of an attempt. Discards impossible figures, since an agent chooses them. */
export function createUsageReports({ basis, events, model, program = "" }: UsageOptions): UsageReports {
  let known: UsageReport = {};
  let requests: TokenFigures = {};

  function learn(figures: UsageReport): void {
    const found = Object.entries(figures).filter(([, value]) => value !== undefined);
    if (found.length === 0) return;
    known = { ...(model === undefined ? {} : { model }), ...known, ...Object.fromEntries(found) };
    events.emit("usage", known);
  }

  function learnTokens(of: UsageReport["basis"], figures: UsageReport): void {
    if (Object.keys(figures).length > 0) learn({ basis: of, ...figures });
  }

  return {
    add({ _meta, cost: given, meteringUsage, size, used }) {
      const { data } = completion.safeParse(_meta);
      learn({
        credits: sumCredits(meteringUsage) ?? sumCredits(data?.kiro.promptTurnSummaries),
        sessionCost: cost.safeParse(given).data,
        contextUsed: parseCount(used),
        contextSize: parseCount(size),
      });
    },
    addRequest(meta) {
      if (program !== QWEN) return;
      requests = addTokens(requests, parseTokens((meta as { readonly usage?: unknown } | null | undefined)?.usage));
      learnTokens("turn", requests);
    },
    addAnswer({ _meta, usage }) {
      if (program === QWEN && Object.keys(requests).length > 0) return;
      learnTokens(basis ?? BASES.get(program), parseTokens(usage));
      if (program === GEMINI) learnTokens("turn", parseQuota(_meta));
    },
  };
}

const amount = z.number().min(0).max(1e12);
const cost = z.object({ amount, currency: z.string().regex(/^[A-Za-z]{1,20}$/) });
const unit = z.literal("credit");
const metered = z.union([
  z.object({ value: amount, unit }).transform(({ value }) => value),
  z.object({ usage: amount, unit }).transform(({ usage }) => usage),
]);
const completion = z.object({
  kiro: z.object({ kind: z.literal("turn_completion"), promptTurnSummaries: z.unknown() }),
});

const MOST_METERED = 100;

/** Adds up Kiro's credits. */
function sumCredits(given: unknown): number | undefined {
  const listed: readonly unknown[] = Array.isArray(given) ? given.slice(0, MOST_METERED) : [];
  const values = listed.flatMap((each) => metered.safeParse(each).data ?? []);
  if (values.length === 0) return undefined;
  return withoutFloatError(values.reduce((sum, value) => sum + value, 0));
}
