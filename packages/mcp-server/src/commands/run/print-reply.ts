import { BudgieError, sanitizeText, type FailureReport, type Reply, type RunLog } from "@budgie/core";
import { toRefusedText } from "../../mcp/calls/egress-text.ts";
import { toErrorResult, toReplyResult } from "../../mcp/calls/tool-result.ts";
import { EXIT, toExitCode } from "../../process/exit-code.ts";
import type { Host } from "../../process/host.ts";
import { escapeForTerminal } from "../../terminal/printable.ts";
import { toSafeJson } from "../../terminal/safe-json.ts";

type Log = Pick<RunLog, "delivered">;

/** Prints the answer of a turn to stdout, and the facts about it to stderr. Resolves to the exit code. */
export async function printReply(turn: Promise<Reply>, log: Log, host: Host): Promise<number> {
  try {
    const reply = await turn;
    printMissed(reply, host);
    const isTaken = await print(`${toPrinted(reply.response, host)}\n`, host);
    printFacts(reply, host);
    if (isTaken) await log.delivered(toDelivered(reply));
    return isTaken ? EXIT.done : EXIT.failed;
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    const { code, message, report } = error;
    printMissed(report, host);
    host.report(escapeForTerminal(`${code}: ${message}`));
    if (report.response !== undefined) reportAnswer("Its answer was:", report.response, host);
    printFacts(report, host);
    await log.delivered(toDelivered(report));
    return toExitCode(error);
  }
}

/** Prints what an MCP client gets as structured content, even for a failed turn. Resolves to the exit code. */
export async function printJson(turn: Promise<Reply>, log: Log, host: Host): Promise<number> {
  let exitCode: number = EXIT.done;
  let report: FailureReport & { readonly runId?: string } = {};
  const watched = turn.catch((error: unknown) => {
    exitCode = toExitCode(error);
    if (error instanceof BudgieError) report = error.report;
    throw error;
  });
  const result = await watched.then((reply) => toReplyResult((report = reply) as Reply)).catch(toErrorResult);
  if (!(await print(toSafeJson(result.structuredContent), host))) return EXIT.failed;
  await log.delivered(toDelivered(report));
  return exitCode;
}

/** Writes to stdout. Resolves to `false` if nobody took it, as when the reader of a pipe has exited. */
function print(words: string, { stdout }: Host): Promise<boolean> {
  return new Promise((resolve) => stdout.write(words, (error) => resolve(!error)));
}

/** Returns the answer as it is; for a terminal, without characters that it would obey. */
function toPrinted(response: string, { columns }: Host): string {
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

type Facts = FailureReport & { readonly denied?: readonly string[] };

function printFacts({ sessionId, ...facts }: Facts, host: Host): void {
  // An agent wrote some of the text.
  for (const remark of toRemarks(facts)) host.report(escapeForTerminal(remark.replace(/\s+/g, " ")));
  if (sessionId !== undefined) host.report(`session ${sessionId}; --continue or --session resumes it.`);
}

function toRemarks({
  changedExecutablePaths: paths = [],
  denied = [],
  egress,
  warnings = [],
}: Facts): readonly string[] {
  const refused = toRefusedText(egress);
  return [
    ...(refused === "" ? [] : [`Its network policy refused: ${refused}. --allow-host allows a host.`]),
    ...(denied.length === 0 ? [] : [`It was refused these tools: ${denied.join(", ")}.`]),
    ...(paths.length === 0
      ? []
      : [`Look at these changed files, which your machine runs by itself: ${paths.join(", ")}.`]),
    ...warnings,
  ];
}

function toDelivered({ missed = [], runId }: FailureReport & { readonly runId?: string }): readonly string[] {
  return [...(runId === undefined ? [] : [runId]), ...missed.map((answer) => answer.runId)];
}
