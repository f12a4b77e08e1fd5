import { BudgieError, type FailureReport, type Reply } from "@budgie/core";
import { formatFailedSummary, formatSummary, type RunLog } from "@budgie/core/runs";
import { sanitizeText, escapeForTerminal } from "@budgie/core/text";
import { EXIT, chooseExitCode, type Host } from "@budgie/mcp-server";
import {
  formatRemedy,
  remarkCopy,
  remarkFailed,
  formatRefused,
  toErrorResult,
  toReplyResult,
} from "@budgie/mcp-server/commands";
import { stringifySafely } from "../../terminal/stringify-safely.ts";

type Log = Pick<RunLog, "delivered">;

/** Prints the answer of a turn to stdout, and the facts about it to stderr. Resolves to the exit code. */
export async function printReply(turn: Promise<Reply>, log: Log, host: Host): Promise<number> {
  try {
    const reply = await turn;
    printMissed(reply, host);
    // A person's command has printed its output itself.
    const isTaken = reply.response === "" || (await print(`${printableText(reply.response, host)}\n`, host));
    printFacts(reply, host);
    host.report(escapeForTerminal(formatSummary(reply)));
    if (isTaken) await log.delivered(listDelivered(reply));
    return isTaken ? EXIT.done : EXIT.failed;
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    const { code, message, report } = error;
    printMissed(report, host);
    host.report(escapeForTerminal(`${code}: ${message}`));
    if (report.response !== undefined) reportAnswer("Its answer was:", report.response, host);
    printFacts(report, host);
    const summary = formatFailedSummary(error);
    if (summary !== undefined) host.report(escapeForTerminal(summary));
    await log.delivered(listDelivered(report));
    return chooseExitCode(error);
  }
}

/** Prints what an MCP client gets as structured content, even for a failed turn. Resolves to the exit code. */
export async function printJson(turn: Promise<Reply>, log: Log, host: Host): Promise<number> {
  let exitCode: number = EXIT.done;
  let report: FailureReport & { readonly runId?: string } = {};
  const watched = turn.catch((error: unknown) => {
    exitCode = chooseExitCode(error);
    if (error instanceof BudgieError) report = error.report;
    throw error;
  });
  const result = await watched.then((reply) => toReplyResult((report = reply) as Reply)).catch(toErrorResult);
  if (!(await print(stringifySafely(result.structuredContent), host))) return EXIT.failed;
  await log.delivered(listDelivered(report));
  return exitCode;
}

/** Writes to stdout. Resolves to `false` if nobody took it, as when the reader of a pipe has exited. */
function print(words: string, { stdout }: Host): Promise<boolean> {
  return new Promise((resolve) => stdout.write(words, (error) => resolve(!error)));
}

/** Returns the answer as it is; for a terminal, without characters that it would obey. */
function printableText(response: string, { columns }: Host): string {
  return columns === undefined ? response : sanitizeText(response);
}

function printMissed({ missed = [], moreMissed = 0 }: FailureReport, host: Host): void {
  for (const { response, when } of missed) {
    reportAnswer(
      `An earlier answer of this session, of ${when}, that no client is known to have received:`,
      response,
      host,
    );
  }
  if (moreMissed > 0) host.report(`${moreMissed} more wait for the session's next turn.`);
}

/** Reports an answer, with a mark before each line, so that none of them looks like one of budgie's. */
function reportAnswer(title: string, response: string, host: Host): void {
  host.report(title);
  for (const line of sanitizeText(response).split("\n")) host.report(`| ${line}`);
}

type ReplyReport = FailureReport & { readonly denied?: readonly string[] };

function printFacts({ sessionId, ...facts }: ReplyReport, host: Host): void {
  // An agent wrote some of the text.
  for (const remark of listRemarks(facts)) host.report(escapeForTerminal(remark.replace(/\s+/g, " ")));
  if (sessionId !== undefined) host.report(`session ${sessionId}; --continue or --session resumes it.`);
}

function listRemarks({
  changedExecutablePaths: paths = [],
  copy,
  denied = [],
  egress,
  warnings = [],
}: ReplyReport): readonly string[] {
  const remedy = formatRemedy(egress);
  const refused = formatRefused(egress);
  return [
    ...(refused === ""
      ? []
      : [`Its network policy refused: ${refused}.${remedy === "" ? "" : ` Allow that with ${remedy}.`}`]),
    ...remarkFailed(egress),
    ...remarkCopy(copy),
    ...(denied.length === 0 ? [] : [`It was refused these tools: ${denied.join(", ")}.`]),
    ...(paths.length === 0
      ? []
      : [`Look at these changed files, which your machine runs by itself: ${paths.join(", ")}.`]),
    ...warnings,
  ];
}

function listDelivered({ missed = [], runId }: FailureReport & { readonly runId?: string }): readonly string[] {
  return [...(runId === undefined ? [] : [runId]), ...missed.map((answer) => answer.runId)];
}
