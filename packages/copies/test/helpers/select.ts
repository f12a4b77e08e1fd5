import { join } from "node:path";
import { readEntries } from "../../src/selection/read-entries.ts";
import { selectEntries, type SelectOptions } from "../../src/selection/select-entries.ts";
import type { CopyWishes, Selection } from "../../src/selection/selection.ts";

const NOWHERE = "/nonexistent";

/** Selects from a folder, for a user without settings of git. */
export function select(
  root: string,
  { bounds, git, ...wishes }: Partial<CopyWishes> & Pick<SelectOptions, "bounds" | "git"> = {},
): Promise<Selection> {
  return selectEntries(root, {
    wishes: { files: "unignored", include: [], worktreeInclude: false, exclude: [], ...wishes },
    userGit: { configs: [join(root, "..", "no-config")], excludes: NOWHERE, home: NOWHERE },
    bounds,
    git,
  });
}

/** Lists the paths of a selection but those of git's folder; folders end with a slash. */
export function listPaths({ entries }: Selection): readonly string[] {
  return entries
    .filter(({ entry }) => !/^\.git(?:\/|$)/.test(entry.path))
    .map(({ entry }) => (entry.kind === "folder" ? `${entry.path}/` : entry.path));
}

/** Reads a selection, and returns the contents of its files and its entries as they were read. */
export async function readAll(selection: Selection) {
  const contents: string[] = [];
  const entries: { readonly path: string }[] = [];
  for await (const { content } of readEntries(selection, { onEntry: (entry) => void entries.push(entry) })) {
    if (Buffer.isBuffer(content)) contents.push(content.toString());
  }
  return { contents, entries };
}

/** Lists the paths that a copy lacks, by reason. */
export function listLeftOut({ leftOut }: Selection): Record<string, readonly string[]> {
  return Object.fromEntries(leftOut.list().groups.map(({ paths, reason }) => [reason, paths.toSorted()]));
}
