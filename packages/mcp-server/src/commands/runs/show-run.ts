import { sanitizeText, toDurationText, toTargetText, type EgressCount, type Run, type Usage } from "@budgie/core";
import type { RunRecord } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { toRunFacts, withRunArchive } from "./run-archive.ts";
import { toSafeJson } from "../../terminal/safe-json.ts";
import { toTable } from "../../terminal/table.ts";
import { withFlags } from "../../terminal/with-flags.ts";

/** Runs `budgie runs show`: prints all facts about a turn, and its answer. */
export async function showRun(
  config: Config,
  { id, json }: { readonly id: string; readonly json: boolean },
  { stdout }: Host,
): Promise<number> {
  const run = await withRunArchive(config, (archive) => archive.find(id));
  stdout.write(json ? toSafeJson(toRunFacts(run)) : runText(run));
  return 0;
}

type Fact = readonly [name: string, text: string | undefined];

function runText(run: RunRecord): string {
  const facts: readonly Fact[] = [
    ["run", run.id],
    ["agent", run.agent],
    ["session", run.sessionId],
    ["isolation", run.isolation],
    ["started", new Date(run.startedMs).toISOString()],
    ["ended", toEnd(run)],
    ["outcome", run.retried ? `${run.outcome}, at the second try` : run.outcome],
    ["exit", toExit(run)],
    ["prompt", `${run.promptBytes} bytes, which are not kept`],
    ["answer", toAnswerState(run)],
    ...toCosts(run.usage),
    ["reached", toHosts(run.egress?.allowed)],
    ["refused", toHosts(run.egress?.denied)],
    ["tools", toCalls(run)],
    ["error", run.error && withFlags(run.error)],
  ];
  const rows = facts.flatMap(([name, fact]) => (fact === undefined ? [] : [[name, toLine(fact)]]));
  // An agent wrote it, and a terminal obeys control characters.
  const answer = run.answer === undefined ? [] : ["", sanitizeText(run.answer)];
  return `${[...toTable(rows), ...answer].join("\n")}\n`;
}

function toLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, " ");
}

function toEnd({ endedMs, startedMs }: Run): string | undefined {
  if (endedMs === undefined) return undefined;
  return `${new Date(endedMs).toISOString()}, after ${toDurationText(Math.max(endedMs - startedMs, 0))}`;
}

function toExit({ exit }: Run): string | undefined {
  return exit === undefined ? undefined : (exit.signal ?? `code ${exit.exitCode}`);
}

function toAnswerState({ answer, answerBytes, delivered }: RunRecord): string | undefined {
  if (answerBytes === undefined) return undefined;
  const state = delivered ? "delivered" : "not delivered as far as budgie knows";
  return `${answerBytes} bytes, ${state}${answer === undefined ? ", and not kept" : ""}`;
}

/** Returns the costs of a turn. The agent's program chose the currency. */
function toCosts({ credits, inputTokens, outputTokens, sessionCost, totalTokens }: Usage = {}): readonly Fact[] {
  const tokens = [
    ...(inputTokens === undefined ? [] : [`${inputTokens} in`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens} out`]),
    ...(totalTokens === undefined ? [] : [`${totalTokens} in all`]),
  ];
  return [
    ["credits", credits?.toString()],
    ["tokens", tokens.length === 0 ? undefined : tokens.join(", ")],
    ["cost", sessionCost && `${sessionCost.amount} ${sessionCost.currency} for the session so far`],
  ];
}

/** Returns the calls of tools of MCP servers. */
function toCalls({ mcpCalls = [] }: Run): string | undefined {
  if (mcpCalls.length === 0) return undefined;
  return mcpCalls
    .map(({ durationMs, outcome, server, tool }) => `@${server}/${tool} (${outcome}, ${toDurationText(durationMs)})`)
    .join(", ");
}

function toHosts(counts: readonly EgressCount[] = []): string | undefined {
  if (counts.length === 0) return undefined;
  return counts.map(({ count, ...target }) => `${toTargetText(target)} (${count})`).join(", ");
}
