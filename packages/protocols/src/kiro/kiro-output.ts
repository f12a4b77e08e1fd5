import { withoutFloatError, type Usage } from "@budgie/core/runs";
import { removeTerminalSequences } from "@budgie/core/text";

// Kiro begins each message with a coloured "> "; a plain one is a quotation in the answer.
// oxlint-disable-next-line no-control-regex
const MARKER = /\u001B\[[0-9;]*m> \u001B\[(?:0|39)?m/g;

/** Extracts the answer from the output of `kiro-cli`: removes terminal codes and message markers. */
export function extractAnswer(stdout: string): string {
  return withoutTerminalCodes(stdout.replace(MARKER, "")).trim();
}

/** Returns true if the model has begun to answer. */
export function hasMessage(stdout: string): boolean {
  return stdout.search(MARKER) >= 0;
}

/** Removes terminal codes and carriage returns. */
export function withoutTerminalCodes(text: string): string {
  return removeTerminalSequences(text).replaceAll("\r", "");
}

// Bounds for a result, however much the agent prints.
const [MAX_DENIED, MAX_TOOL_LENGTH] = [100, 200];
const DENIED_BY_LIST = /^[ \t]*Command (\S+) is rejected because it matches one or more rules on the denied list/gm;
const DENIED_ON_STDERR = /\[denied\] tool permission approval is not supported in non-interactive mode/g;

/** Lists the tools that Kiro denied; `unknown` if it does not name them. Kiro ends such a turn as a success. */
export function listDeniedTools(stdout: string, stderr: string): readonly string[] {
  const texts = [withoutTerminalCodes(stdout), withoutTerminalCodes(stderr)];
  const named = texts.flatMap((text) => [...text.matchAll(DENIED_BY_LIST)].map(([, tool = "unknown"]) => tool));
  const unnamed = texts.some((text) => text.search(DENIED_ON_STDERR) >= 0);
  return named.length === 0 && unnamed ? ["unknown"] : shorten(named);
}

const USED = /\(using tool: ([\w.@/-]{1,100})[,)]/g;
const MAX_USES = 1000;

/** Lists the tools that Kiro says it used, each as often as it did. */
export function listUsedTools(stdout: string): readonly string[] {
  const uses = [...withoutTerminalCodes(stdout).matchAll(USED)].slice(0, MAX_USES);
  return uses.map(([, tool = ""]) => Buffer.from(tool).toString());
}

function shorten(tools: readonly string[]): readonly string[] {
  // A slice of a text keeps all of the text in memory, and results are kept for some time.
  return [...new Set(tools)].slice(0, MAX_DENIED).map((tool) => Buffer.from(tool.slice(0, MAX_TOOL_LENGTH)).toString());
}

const MAX_EVIDENCE = 500;

/** Returns the line around a position in a text, short enough for an error message. */
export function findLineAt(text: string, at: number): string {
  const from = Math.max(text.lastIndexOf("\n", at) + 1, at - MAX_EVIDENCE / 2);
  return text
    .slice(from, from + MAX_EVIDENCE)
    .split("\n", 1)
    .join()
    .trim();
}

/** Returns the last lines of a stream, short enough for an error message. */
export function lastLines(text: string): string {
  const lines = withoutTerminalCodes(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !CREDITS.test(line));
  return lines.slice(-5).join(" | ").slice(-MAX_EVIDENCE);
}

const CREDITS = /^▸ Credits: (?:(\d{1,9}(?:\.\d{1,9})?)(?=\s|$))?/;

/** Returns true if Kiro finished the turn. Its credits line on stderr is the only proof of that in text mode. */
export function saysFinished(stderr: string): boolean {
  return withoutTerminalCodes(stderr)
    .split("\n")
    .some((line) => CREDITS.test(line.trim()));
}

/** Adds up the cost of runs, by the last credits line of each; `undefined` if none has one. */
export function sumUsage(stderrs: readonly string[]): Usage | undefined {
  const costs = stderrs.flatMap((stderr) => {
    const lines = withoutTerminalCodes(stderr).split("\n");
    const credits = lines.map((line) => CREDITS.exec(line.trim())?.[1]).findLast((amount) => amount !== undefined);
    return credits === undefined ? [] : [Number(credits)];
  });
  if (costs.length === 0) return undefined;
  return { credits: withoutFloatError(costs.reduce((total, cost) => total + cost, 0)) };
}
