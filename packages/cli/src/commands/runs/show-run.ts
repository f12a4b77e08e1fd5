import { formatTarget, type EgressCount } from "@budgie/core";
import type { Run, RunFacts } from "@budgie/core/runs";
import { sanitizeText, formatDuration } from "@budgie/core/text";
import type { RunRecord } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { withFlags, type Host } from "@budgie/mcp-server";
import { formatUsage } from "./format-usage.ts";
import { toRunFacts, withRunArchive } from "./with-run-archive.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { formatTable } from "../../terminal/format-table.ts";

/** Runs `budgie runs show`: prints all facts about a turn, and its answer. */
export async function showRun(
  config: Config,
  { id, json }: { readonly id: string; readonly json: boolean },
  { stdout }: Host,
): Promise<number> {
  const run = await withRunArchive(config, (archive) => archive.find(id));
  stdout.write(json ? stringifySafely(toRunFacts(run)) : runText(run));
  return 0;
}

type Fact = readonly [name: string, text: string | undefined];

function runText(run: RunRecord): string {
  const facts: readonly Fact[] = [
    ["run", run.id],
    ["agent", run.agent],
    ["client", run.client],
    ["session", run.sessionId],
    ["directory", run.directory],
    ["isolation", formatIsolation(run)],
    ["image", formatImage(run.facts?.image)],
    ["started", new Date(run.startedMs).toISOString()],
    ["ended", formatEnd(run)],
    ["outcome", run.retried ? `${run.outcome}, at the second try` : run.outcome],
    ["exit", formatExit(run)],
    ["prompt", `${run.promptBytes} bytes, which are not kept`],
    ["answer", formatAnswer(run)],
    ["cost", formatUsage(run.usage)],
    ...listReport(run),
    ["error", run.error && withFlags(run.error)],
  ];
  const rows = facts.flatMap(([name, fact]) => (fact === undefined ? [] : [[name, formatLine(fact)]]));
  // An agent wrote it, and a terminal obeys control characters.
  const answer = run.answer === undefined ? [] : ["", sanitizeText(run.answer)];
  return `${[...formatTable(rows), ...answer].join("\n")}\n`;
}

/** Returns what was seen of a turn. */
function listReport(run: Run): readonly Fact[] {
  const { egress, facts, others } = run;
  return [
    ...listEach("changed", facts?.changedExecutablePaths),
    ["reached", formatHosts(egress?.allowed)],
    ["refused", formatHosts(egress?.denied)],
    ["unreached", formatHosts(egress?.failed)],
    ["tools", formatCalls(run)],
    ["denied", facts?.denied.join(", ") || undefined],
    ["beside", others?.map(({ agent, runId }) => `${agent} (run ${runId})`).join(", ")],
    ...listEach("warning", facts?.warnings),
  ];
}

/** Returns a line for each text: an agent may have chosen it, and could put another one's mark into it. */
function listEach(name: string, texts: readonly string[] = []): readonly Fact[] {
  return texts.map((text) => [name, text]);
}

function formatIsolation({ facts, isolation }: Run): string {
  const { access } = facts ?? {};
  return access === undefined ? isolation : `${isolation}, workspace ${access.workspace}, egress ${access.egress}`;
}

function formatImage(image: RunFacts["image"]): string | undefined {
  return image && `${image.used === "project" ? "the project's" : "the default"}: ${image.reason} (${image.file})`;
}

function formatLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, " ");
}

function formatEnd({ endedMs, startedMs }: Run): string | undefined {
  if (endedMs === undefined) return undefined;
  return `${new Date(endedMs).toISOString()}, after ${formatDuration(Math.max(endedMs - startedMs, 0))}`;
}

function formatExit({ exit }: Run): string | undefined {
  return exit === undefined ? undefined : (exit.signal ?? `code ${exit.exitCode}`);
}

function formatAnswer({ answer, answerBytes, delivered }: RunRecord): string | undefined {
  if (answerBytes === undefined) return undefined;
  const state = delivered ? "delivered" : "not delivered as far as budgie knows";
  return `${answerBytes} bytes, ${state}${answer === undefined ? ", and not kept" : ""}`;
}

/** Returns the calls of tools of MCP servers. */
function formatCalls({ mcpCalls = [] }: Run): string | undefined {
  if (mcpCalls.length === 0) return undefined;
  return mcpCalls
    .map(({ durationMs, outcome, server, tool }) => `@${server}/${tool} (${outcome}, ${formatDuration(durationMs)})`)
    .join(", ");
}

function formatHosts(counts: readonly EgressCount[] = []): string | undefined {
  if (counts.length === 0) return undefined;
  return counts.map(({ count, ...target }) => `${formatTarget(target)} (${count})`).join(", ");
}
