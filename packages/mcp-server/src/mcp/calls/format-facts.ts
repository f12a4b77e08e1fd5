import type { EgressReport, FailureReport, Reply } from "@budgie/core";
import type { CopyChanges } from "@budgie/core/errors";
import { listLacks } from "@budgie/core/turn";
import { NO_IMAGE } from "../../images/judge-image-source.ts";
import { shorten } from "../tools/fit-description.ts";
import { formatRemedy, remarkFailed, formatRefused } from "./format-refused.ts";

/** Returns budgie's own text after an agent's answer, one line per fact: the session id, and anything else that its caller must know. */
export function formatFacts(reply: Reply): string {
  const lines = [`[budgie] ${remarkSession(reply.sessionId)}`, ...listRemarks(reply)].map(formatLine);
  // Some clients, such as Copilot CLI, join texts without a separator.
  return `\n\n${lines.join("\n")}`;
}

/** Returns the facts about a failed turn, to follow the error's message. */
export function formatFailure({ sessionId, ...report }: FailureReport): string {
  const session = sessionId === undefined ? [] : [remarkSession(sessionId)];
  return [...listRemarks(report), ...session].map((remark) => ` ${remark}`).join("");
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

/** Returns sentences about the copy that an agent worked on: its changes, and what it lacks. */
function remarkCopy(copy: FailureReport["copy"]): readonly string[] {
  if (copy === undefined) return [];
  const { changes } = copy;
  const worked = "It worked on a copy: the directory itself is as it was.";
  return [
    ...(changes === undefined ? [worked] : [`${worked} ${formatChanges(changes)}`]),
    ...listLacks(copy).map((lack) => `The copy: ${lack}`),
  ];
}

function formatChanges({ added, changeId, changed, guarded, notApplicable, removed }: CopyChanges): string {
  const counts = [`${added} added`, `${changed} changed`, `${removed} removed`].filter(
    (count) => !count.startsWith("0"),
  );
  const held = guarded.length === 0 ? "" : ` Only the user applies ${formatNames(guarded)}.`;
  const not = notApplicable.length === 0 ? "" : ` These cannot be applied: ${formatNames(notApplicable)}.`;
  return `Its changes wait as changeId "${changeId}": ${counts.join(", ") || "none that can be applied"}.${held}${not}`;
}

function remarkMissed(count: number, more = 0): readonly string[] {
  if (count === 0) return [];
  const earlier = count === 1 ? "stands an earlier answer" : `stand ${count} earlier answers`;
  const waiting = more === 0 ? "" : `; ${more} more wait for the next call`;
  return [`Before this ${earlier} of the session that may not have reached you${waiting}.`];
}

/** Returns names that an agent chose, in quotes if one could be taken for more than a name. */
function formatNames(names: readonly string[]): string {
  return names.map((name) => (/^[\w./@+-]+$/.test(name) ? name : JSON.stringify(name))).join(", ");
}

const LONGEST_LINE_BYTES = 1_000;

/** Returns a fact as one line: an agent that could begin another line would speak as budgie. */
function formatLine(fact: string): string {
  return shorten(fact.replace(/\s+/g, " "), LONGEST_LINE_BYTES);
}
