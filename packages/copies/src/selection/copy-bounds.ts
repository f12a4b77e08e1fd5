import { BudgieError } from "@budgie/core";
import type { MatchBudget } from "../rules/match-wild-pattern.ts";
import type { SelectedEntry } from "./selection.ts";

/** The most that a copy may have, which is refused before anything is sent. */
export type CopyBounds = {
  readonly entries: number;
  readonly bytes: number;
  /** The size of a `.git` folder above which the copy does without it */
  readonly gitBytes: number;
  /** The most steps of matching names with the patterns of a repository: some seconds */
  readonly matchSteps: number;
};

/** The bounds of a copy. */
export const LARGEST_COPY: CopyBounds = {
  entries: 200_000,
  bytes: 2 * 1024 ** 3,
  gitBytes: 512 * 1024 ** 2,
  matchSteps: 500_000_000,
};

/** Counts what a copy would get, by folders, so that a refusal can name the largest. */
export type CopyTally = {
  readonly add: (entry: Pick<SelectedEntry, "entry">) => void;
  /** True while there is room for more */
  readonly isWithin: () => boolean;
  readonly bytes: () => number;
  /** Throws `WORKSPACE_INVALID` if there was too much */
  readonly check: () => void;
};

/** Creates the count of a copy of a directory. */
export function createCopyTally(directory: string, bounds: CopyBounds): CopyTally {
  const folders = new Map<string, Size>();
  const whole: Size = { entries: 0, bytes: 0 };
  const isWithin = (): boolean => whole.entries <= bounds.entries && whole.bytes <= bounds.bytes;
  return {
    add({ entry }) {
      const bytes = entry.kind === "file" ? entry.size : 0;
      const parts = entry.path.split("/");
      const folder = parts.slice(0, Math.min(2, parts.length - 1)).join("/");
      const size = folders.get(folder) ?? { entries: 0, bytes: 0 };
      folders.set(folder, addTo(size, bytes));
      addTo(whole, bytes);
    },
    isWithin,
    bytes: () => whole.bytes,
    check() {
      if (!isWithin()) throw tooLargeError(directory, { bounds, folders, whole });
    },
  };
}

type Size = { entries: number; bytes: number };

function addTo(size: Size, bytes: number): Size {
  size.entries++;
  size.bytes += bytes;
  return size;
}

type TooLarge = { readonly bounds: CopyBounds; readonly folders: ReadonlyMap<string, Size>; readonly whole: Size };

const MOST_NAMED = 5;

function tooLargeError(directory: string, { bounds, folders, whole }: TooLarge): BudgieError {
  const weigh = ({ bytes, entries }: Size): number => Math.max(bytes / bounds.bytes, entries / bounds.entries);
  const largest = [...folders]
    .filter(([folder]) => folder !== "")
    .toSorted(([, one], [, other]) => weigh(other) - weigh(one))
    .slice(0, MOST_NAMED)
    .map(([folder, size]) => `${JSON.stringify(folder)} (${formatSize(size)})`);
  return new BudgieError(
    "WORKSPACE_INVALID",
    `A copy of "${directory}" would have ${formatSize(whole)}, and ${formatSize(bounds)} are the most. ` +
      `The largest folders are ${largest.join(", ") || "none"}. Name in "copyExclude" what the agent does not need, or call with a smaller directory.`,
  );
}

function formatSize({ bytes, entries }: Size | CopyBounds): string {
  return `${entries.toLocaleString("en-US")} entries and ${Math.ceil(bytes / 1024 ** 2).toLocaleString("en-US")} MiB`;
}

/** Creates a budget for matching; throws `WORKSPACE_INVALID` once it is spent. */
export function createMatchBudget(directory: string, { matchSteps }: CopyBounds): MatchBudget {
  let left = matchSteps;
  return {
    spend(steps) {
      left -= steps;
      if (left >= 0) return;
      throw new BudgieError(
        "WORKSPACE_INVALID",
        `The ".gitignore" files of "${directory}" have so many or so slow patterns that it cannot be copied. ` +
          `Set "copyFiles" to "tracked", or call with a smaller directory.`,
      );
    },
  };
}
