import { formatTarget, type EgressCount } from "@budgie/core";
import type { Run, RunFacts } from "@budgie/core/runs";
import { sanitizeText, formatDuration, joinFirst } from "@budgie/core/text";
import type { RunRecord } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { withFlags, type Host } from "@budgie/mcp-server";
import { formatUsage } from "./format-usage.ts";
import { listChanges } from "./list-changes.ts";
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
    ["image", formatImage(run.facts)],
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
    ...listChanges(facts),
    ["reached", formatHosts(egress?.allowed)],
    ["refused", formatHosts(egress?.denied)],
    ["unreached", formatHosts(egress?.failed)],
    ["tools", formatTools(run)],
    ["denied", facts?.denied.join(", ") || undefined],
    [
      "beside",
      others &&
        joinFirst(
          others.map(({ agent, runId }) => `${agent} (run ${runId})`),
          MOST_NAMED,
        ),
    ],
    ...listEach("warning", facts?.warnings),
  ];
}

// A run's story fits on one screen.
const MOST_WARNINGS = 5;
const MOST_NAMED = 10;

/** Returns a line for each of the first texts: an agent may have chosen it, and could put another one's mark into it. */
function listEach(name: string, texts: readonly string[] = []): readonly Fact[] {
  const more = texts.length - MOST_WARNINGS;
  const first = texts.slice(0, MOST_WARNINGS).map((text): Fact => [name, text]);
  return more > 0 ? [...first, [name, `and ${more} more, which --json has`]] : first;
}

function formatIsolation({ facts, isolation }: Run): string {
  const { access, sandbox } = facts ?? {};
  if (access === undefined) return isolation;
  const login = sandbox?.credentials === undefined ? "" : `, credentials ${sandbox.credentials}`;
  return `${isolation}, workspace ${access.workspace}, egress ${access.egress}${login}`;
}

/** Returns the image that ran, and what became of the one that the project asked for. */
function formatImage({ image, sandbox }: Partial<RunFacts> = {}): string | undefined {
  const ran = sandbox?.image?.replace(/^(sha256:[\da-f]{12})[\da-f]+$/, "$1");
  const project =
    image && `${image.used === "project" ? "the project's" : "the default"}: ${image.reason} (${image.file})`;
  return ran === undefined || project === undefined ? (ran ?? project) : `${ran}, ${project}`;
}

function formatLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, " ");
}

function formatEnd({ endedMs, facts, startedMs }: Run): string | undefined {
  if (endedMs === undefined) return undefined;
  const limit = facts?.timeoutMs === undefined ? "" : `, of at most ${formatDuration(facts.timeoutMs)}`;
  return `${new Date(endedMs).toISOString()}, after ${formatDuration(Math.max(endedMs - startedMs, 0))}${limit}`;
}

function formatExit({ exit }: Run): string | undefined {
  return exit === undefined ? undefined : (exit.signal ?? `code ${exit.exitCode}`);
}

function formatAnswer({ answer, answerBytes, delivered }: RunRecord): string | undefined {
  if (answerBytes === undefined) return undefined;
  const state = delivered ? "delivered" : "not delivered as far as budgie knows";
  return `${answerBytes} bytes, ${state}${answer === undefined ? ", and not kept" : ""}`;
}

/** Returns the tools that the agent used, and its calls of MCP servers'. */
function formatTools({ facts, mcpCalls = [] }: Run): string | undefined {
  const own = (facts?.tools ?? []).map(({ count, name }) => `${name} (${count})`);
  const calls = mcpCalls.map(
    ({ durationMs, outcome, server, tool }) => `@${server}/${tool} (${outcome}, ${formatDuration(durationMs)})`,
  );
  return joinFirst([...own, ...calls], MOST_NAMED) || undefined;
}

function formatHosts(counts: readonly EgressCount[] = []): string | undefined {
  if (counts.length === 0) return undefined;
  const hosts = counts.map(({ count, ...target }) => `${formatTarget(target)} (${count})`);
  return joinFirst(hosts, MOST_NAMED);
}
