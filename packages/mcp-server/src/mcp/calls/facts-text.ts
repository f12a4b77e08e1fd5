import type { EgressReport, FailureReport, Reply } from "@budgie/core";
import { shorten } from "../tools/tool-description.ts";
import { toRefusedText } from "./egress-text.ts";

/** Returns budgie's own text after an agent's answer, one line per fact: the session id, and anything else that its caller must know. */
export function toFactsText(reply: Reply): string {
  const lines = [`[budgie] ${toSessionRemark(reply.sessionId)}`, ...toRemarks(reply)].map(toLine);
  // Some clients, such as Copilot CLI, join texts without a separator.
  return `\n\n${lines.join("\n")}`;
}

/** Returns the facts about a failed turn, to follow the error's message. */
export function toFailureText({ sessionId, ...report }: FailureReport): string {
  const session = sessionId === undefined ? [] : [toSessionRemark(sessionId)];
  return [...toRemarks(report), ...session].map((remark) => ` ${remark}`).join("");
}

/** Returns a sentence about the hosts that were denied to a turn; none if there were none. */
export function toRefusedRemarks(egress: EgressReport | undefined): readonly string[] {
  const refused = toRefusedText(egress);
  if (refused === "") return [];
  return [
    `Its network policy refused: ${refused}. The work may be incomplete; the user can allow a host with --allow-host.`,
  ];
}

function toSessionRemark(sessionId: string): string {
  return `To resume this conversation, pass sessionId "${sessionId}".`;
}

type Facts = Omit<FailureReport, "sessionId"> & { readonly denied?: readonly string[] };

function toRemarks({
  changedExecutablePaths: paths = [],
  denied = [],
  egress,
  missed = [],
  moreMissed,
  warnings = [],
}: Facts): readonly string[] {
  const tools = `The work may be incomplete, as it was refused these tools: ${toNames(denied)}.`;
  const changed = `Have the user look before going on. Files that your machine runs by itself were changed: ${toNames(paths)}.`;
  return [
    ...toRefusedRemarks(egress),
    ...(denied.length === 0 ? [] : [tools]),
    ...(paths.length === 0 ? [] : [changed]),
    ...toMissedRemarks(missed.length, moreMissed),
    ...(warnings.length === 0 ? [] : [warnings.join(" ")]),
  ];
}

function toMissedRemarks(count: number, more = 0): readonly string[] {
  if (count === 0) return [];
  const earlier = count === 1 ? "stands an earlier answer" : `stand ${count} earlier answers`;
  const waiting = more === 0 ? "" : `; ${more} more wait for the next call`;
  return [`Before this ${earlier} of the session that may not have reached you${waiting}.`];
}

/** Returns names that an agent chose, in quotes if one could be taken for more than a name. */
function toNames(names: readonly string[]): string {
  return names.map((name) => (/^[\w./@+-]+$/.test(name) ? name : JSON.stringify(name))).join(", ");
}

const LONGEST_LINE_BYTES = 1_000;

/** Returns a fact as one line: an agent that could begin another line would speak as budgie. */
function toLine(fact: string): string {
  return shorten(fact.replace(/\s+/g, " "), LONGEST_LINE_BYTES);
}
