import { BudgieError } from "@budgie/core";
import type { ChangesReview } from "@budgie/core/errors";
import { truncateText } from "@budgie/core/text";
import type { OnConflict } from "@budgie/copies/apply";
import { countChanges, escapeUnseen, findVerb, formatCounts } from "@budgie/copies/diffs";
import type { Change, StoredSet } from "@budgie/copies/sets";
import type { AskPerson } from "../calls/client-tools.ts";
import { formatNames } from "../calls/remark-copy.ts";

export type AskToApplyOptions = {
  /** Left out if the client shows no forms */
  readonly ask: AskPerson | undefined;
  /** The directory as it is now */
  readonly review: ChangesReview | undefined;
  /** The choice of the call, by `onConflict` */
  readonly inConflict: OnConflict;
};

const IN_CONFLICT: Readonly<Record<OnConflict, string>> = {
  stop: "so nothing will be applied",
  skip: "which are left as they are",
  merge: "which are merged, unseen, where the two changed different lines",
};

const SHORT_ID = 8;
const MOST_PATHS = 20;
const LONGEST_PATH = 200;
const LONGEST_PROBLEM = 500;

/**
 * Has the client's person type the beginning of a set's id, since some clients answer a form without fields by themselves. Throws
 * `INPUT_INVALID` naming the command for a terminal if they do not.
 */
export async function askToApply(stored: StoredSet, options: AskToApplyOptions): Promise<void> {
  const { ask } = options;
  const id = stored.id.slice(0, SHORT_ID);
  if (ask === undefined) throw refused("This client cannot ask its user", id);
  const label = `Type ${id} to apply them`;
  const typed = await ask({ message: `${formatQuestion(stored, options)}\n${label}.`, label });
  if (typed?.trim() !== id) throw refused("The user did not confirm it", id);
}

function refused(why: string, id: string): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    `Nothing was applied. ${why}, so only the user applies this, at a terminal: "budgie changes apply ${id}".`,
  );
}

/** Returns a question of bounded size. The agent chose the paths, so each is on a line of its own. */
function formatQuestion(
  { agent, directory, set }: StoredSet,
  { inConflict, review }: Pick<AskToApplyOptions, "inConflict" | "review">,
): string {
  // Changes that run by themselves come first, since the agent chose the number of the others.
  const changes = set.changes.toSorted((one, other) => Number(isRun(other)) - Number(isRun(one)));
  const runs = changes.filter(isRun).length;
  const more = changes.length - MOST_PATHS;
  return [
    `Apply the changes of the agent ${formatName(agent)} to ${formatName(directory)}?`,
    `${formatCounts(countChanges(set))}.`,
    ...(runs === 0 ? [] : [`Builds or editors run ${runs} of them.`]),
    ...(review === undefined ? [] : formatReview(review, inConflict)),
    ...changes.slice(0, MOST_PATHS).map((change) => `- ${findVerb(change)}: ${formatPath(change)}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join("\n");
}

function formatReview({ conflicts, overlaps, problem }: ChangesReview, inConflict: OnConflict): readonly string[] {
  const ofConflicts = `In conflict with the directory as it is now: ${conflicts.count}, ${IN_CONFLICT[inConflict]}.`;
  return [
    ...(problem === undefined ? [] : [`Nothing can be applied: ${truncateText(problem, LONGEST_PROBLEM)}`]),
    ...(conflicts.count === 0 ? [] : [ofConflicts]),
    ...(overlaps.length === 0 ? [] : [`Other change sets that change some of the same paths: ${overlaps.length}.`]),
  ];
}

function isRun({ guard }: Change): boolean {
  return guard === "told";
}

function formatPath({ guard, path, refused: why }: Change): string {
  const flags = [
    ...(why === undefined ? [] : ["cannot be applied"]),
    ...(guard === "person" ? ["held back for a terminal"] : []),
    ...(guard === "told" ? ["builds or editors run it"] : []),
  ];
  return `${formatName(path)}${flags.length === 0 ? "" : ` (${flags.join("; ")})`}`;
}

function formatName(name: string): string {
  return formatNames([truncateText(escapeUnseen(name), LONGEST_PATH)]);
}
