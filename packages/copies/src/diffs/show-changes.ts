import type { ChangeSet } from "../sets/change-set.ts";
import { createDiffer } from "./differ.ts";
import { renderChange, type Rendering } from "./render-change.ts";
import { splitPages } from "./split-pages.ts";

/** The changes of a set as text, in pages. */
export type ShownChanges = {
  readonly pages: readonly string[];
  /** False if there are more changes than the pages show */
  readonly isWhole: boolean;
};

// More than any model reads; a person's command shows all.
const MOST_PAGES = 128;

/** Returns the changes of a set in pages of 32 KiB. */
export async function showChanges(set: ChangeSet, { objects }: Pick<Rendering, "objects">): Promise<ShownChanges> {
  return splitPages(renderChanges(set, { objects }), MOST_PAGES);
}

/** Yields the lines that show a set, a change at a time. Diffs run in a worker. */
export async function* renderChanges(
  { changes }: Pick<ChangeSet, "changes">,
  { objects }: Pick<Rendering, "objects">,
): AsyncGenerator<readonly string[]> {
  const differ = createDiffer();
  try {
    for (const change of changes) yield await renderChange(change, { objects, differ });
  } finally {
    await differ.close();
  }
}
