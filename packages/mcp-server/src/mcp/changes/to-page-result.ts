import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { ChangesReview } from "@budgie/core/errors";
import { countChanges, escapeUnseen, formatCounts, type ShownChanges } from "@budgie/copies/diffs";
import type { ApplyResult } from "@budgie/copies/apply";
import { isOpen, type StoredSet } from "@budgie/copies/sets";
import { remarkReview } from "../calls/remark-copy.ts";

const MOST_NAMED = 20;

/** Returns the result of `changes` without a change id: the client's change sets, the newest first. */
export function toListResult(sets: readonly StoredSet[]): CallToolResult {
  const lines = sets.map(({ agent, directory, id, set, state }) => {
    const what = formatCounts(countChanges(set));
    return `${id}: ${state}, ${what}, by ${escapeUnseen(agent)} in ${escapeUnseen(directory)}`;
  });
  const text = lines.join("\n") || "Your agents have changed nothing in copies of directories.";
  return { content: [{ type: "text", text }], structuredContent: { changeSets: sets.map(toFacts) } };
}

type Page = {
  readonly shown: ShownChanges;
  /** From 1 on */
  readonly page: number;
  /** The directory as it is now; of a set that waits */
  readonly review: ChangesReview | undefined;
};

/** Returns a page of a set's diff between budgie's own texts. The last page has the token that `apply_changes` asks for. */
export function toPageResult(stored: StoredSet, { page, review, shown }: Page): CallToolResult {
  const { isWhole, pages } = shown;
  const isLast = page === pages.length;
  const token = isLast && isWhole && isOpen(stored) ? { reviewToken: stored.token } : {};
  return {
    content: [
      { type: "text", text: formatHead(stored, review) },
      { type: "text", text: pages[page - 1] ?? "" },
      { type: "text", text: formatEnd(stored, { page, shown }) },
    ],
    structuredContent: {
      ...toFacts(stored),
      page,
      pages: pages.length,
      // Some clients show their model nothing else.
      diff: pages[page - 1] ?? "",
      ...(review === undefined ? {} : { review }),
      ...token,
    },
  };
}

function toFacts({ agent, createdMs, directory, id, sessionId, set, state }: StoredSet): Record<string, unknown> {
  const { guarded, refused, ...counts } = countChanges(set);
  return {
    changeId: id,
    state,
    agent,
    sessionId,
    directory,
    when: new Date(createdMs).toISOString(),
    ...counts,
    guarded: guarded.slice(0, MOST_NAMED).map(escapeUnseen),
    notApplicable: refused.slice(0, MOST_NAMED).map(escapeUnseen),
  };
}

function formatHead({ directory, id, set, state }: StoredSet, review: ChangesReview | undefined): string {
  const { gitPaths, omitted } = set;
  return [
    `[budgie: change set ${id}, ${state}: ${formatCounts(countChanges(set))}, in ${escapeUnseen(directory)}.`,
    ...(gitPaths === 0 ? [] : [`${gitPaths} new paths of git's own folders are never applied.`]),
    ...(omitted === 0 ? [] : [`${omitted} more changes are too many to be kept or applied.`]),
    ...(review === undefined ? [] : remarkReview(review)),
    "What follows is the agent's.]",
  ].join(" ");
}

function formatEnd(stored: StoredSet, { page, shown }: Pick<Page, "page" | "shown">): string {
  const { isWhole, pages } = shown;
  if (page < pages.length)
    return `[budgie: page ${page} of ${pages.length}. Call changes with page ${page + 1} for the next.]`;
  if (!isWhole)
    return `[budgie: there is more than these ${pages.length} pages show, so only the user applies it: "budgie changes diff".]`;
  const end = `[budgie: page ${page} of ${pages.length}, the last.`;
  return isOpen(stored) ? `${end} reviewToken: ${stored.token}]` : `${end} The set is ${stored.state}.]`;
}

/** Returns the result of an apply. One that wrote nothing because of conflicts is an error. */
export function toAppliedResult(result: ApplyResult): CallToolResult {
  const { applied, conflicts, directory, heldBack, id, refused, state } = result;
  const isStopped = applied.length === 0 && conflicts.length > 0;
  const merged = applied.flatMap((each) => (each.merged === undefined ? [] : [each.path]));
  const lines = [
    isStopped
      ? `Nothing was written: the set is still ${formatState(state)}.`
      : `${applied.length} paths have the agent's changes in ${escapeUnseen(directory)}: the set is ${formatState(state)}.`,
    ...namePaths("Merged with the directory's own changes", merged.map(escapeUnseen)),
    ...namePaths(
      "In conflict",
      conflicts.map(({ path, why }) => `${escapeUnseen(path)} (${why})`),
    ),
    ...namePaths(
      "Not applicable",
      refused.map(({ path, why }) => `${escapeUnseen(path)} (${why})`),
    ),
    ...namePaths("Held back for the user", heldBack.map(escapeUnseen)),
    ...(heldBack.length === 0
      ? []
      : [`The user applies these at a terminal: budgie changes apply ${id.slice(0, 8)} --guarded`]),
  ];
  return {
    ...(isStopped ? { isError: true } : {}),
    content: [{ type: "text", text: lines.join("\n") }],
    structuredContent: {
      changeId: id,
      state,
      applied: applied.length,
      merged: merged.slice(0, MOST_NAMED).map(escapeUnseen),
      conflicts: conflicts.slice(0, MOST_NAMED).map(({ path, why }) => ({ path: escapeUnseen(path), why })),
      heldBack: heldBack.slice(0, MOST_NAMED).map(escapeUnseen),
    },
  };
}

function formatState(state: StoredSet["state"]): string {
  return state === "partly" ? "partly applied" : state;
}

function namePaths(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > MOST_NAMED ? `, and ${paths.length - MOST_NAMED} more` : "";
  return [`${what}: ${paths.slice(0, MOST_NAMED).join(", ")}${more}`];
}
