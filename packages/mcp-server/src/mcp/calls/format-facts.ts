import type { BudgieError, EgressReport, FailureReport, Reply } from "@budgie/core";
import { formatFailedSummary, formatSummary } from "@budgie/core/runs";
import { NO_IMAGE } from "@budgie/sandbox/images";
import { shorten } from "../tools/fit-description.ts";
import { formatNames, remarkCopy } from "./remark-copy.ts";
import { formatRemedy, remarkFailed, formatRefused } from "./format-refused.ts";

/** Returns budgie's own text after an agent's answer, one line per fact: the session id, and anything else that its caller must know. */
export function formatFacts(reply: Reply): string {
  const remarks = [`[budgie] ${remarkSession(reply.sessionId)}`, ...listRemarks(reply)];
  const lines = [...remarks, `[budgie] ${formatSummary(reply)}`].map(formatLine);
  // Some clients, such as Copilot CLI, join texts without a separator.
  return `\n\n${lines.join("\n")}`;
}

/** Returns the facts about a failed turn, to follow the error's message. */
export function formatFailure(error: Pick<BudgieError, "code" | "report">): string {
  const { sessionId, ...report } = error.report;
  const session = sessionId === undefined ? [] : [remarkSession(sessionId)];
  const summary = formatFailedSummary(error);
  const last = summary === undefined ? "" : `\n\n${formatLine(`[budgie] ${summary}`)}`;
  return `${[...listRemarks(report), ...session].map((remark) => ` ${remark}`).join("")}${last}`;
}

/** Returns sentences about the hosts that a turn did not reach; none if there were none. */
export function toEgressRemarks(egress: EgressReport | undefined): readonly string[] {
  const refused = formatRefused(egress);
  const remedy = formatRemedy(egress);
  const allowing = `The work may be incomplete${remedy === "" ? "" : `; the user can allow that with ${remedy}`}.`;
  return [...(refused === "" ? [] : [`Its network policy refused: ${refused}. ${allowing}`]), ...remarkFailed(egress)];
}

function remarkSession(sessionId: string): string {
  return `To resume this conversation, pass sessionId "${sessionId}".`;
}

type Reported = Omit<FailureReport, "sessionId"> & { readonly denied?: readonly string[] };

function listRemarks({
  changedExecutablePaths: paths = [],
  copy,
  denied = [],
  egress,
  image,
  missed = [],
  moreMissed,
  warnings = [],
}: Reported): readonly string[] {
  const tools = `The work may be incomplete, as it was refused these tools: ${formatNames(denied)}.`;
  const changed = `Have the user look before going on. Files that your machine runs by itself were changed: ${formatNames(paths)}.`;
  return [
    ...toEgressRemarks(egress),
    ...remarkCopy(copy),
    ...remarkImage(image),
    ...(denied.length === 0 ? [] : [tools]),
    ...(paths.length === 0 ? [] : [changed]),
    ...remarkMissed(missed.length, moreMissed),
    ...(warnings.length === 0 ? [] : [warnings.join(" ")]),
  ];
}

/** Returns a sentence if a project's image would have been expected: one that nobody has allowed is the usual case. */
function remarkImage(image: FailureReport["image"]): readonly string[] {
  if (image?.used !== "default" || image.reason === NO_IMAGE.unknown) return [];
  return [`It ran in the default image, not in the project's: ${formatNames([image.file])} ${image.reason}.`];
}

function remarkMissed(count: number, more = 0): readonly string[] {
  if (count === 0) return [];
  const earlier = count === 1 ? "stands an earlier answer" : `stand ${count} earlier answers`;
  const waiting = more === 0 ? "" : `; ${more} more wait for the next call`;
  return [`Before this ${earlier} of the session that may not have reached you${waiting}.`];
}

const LONGEST_LINE_BYTES = 1_000;

/** Returns a fact as one line: an agent that could begin another line would speak as budgie. */
function formatLine(fact: string): string {
  return shorten(fact.replace(/\s+/g, " "), LONGEST_LINE_BYTES);
}
