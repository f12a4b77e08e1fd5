import { BudgieError } from "@budgie/core";
import type { Cover, CoverEntry, Hidden } from "@budgie/core/policy";
import type { CopyCover } from "./copy-mounts.ts";

/** Resolves to the kinds of paths in a copy; `undefined` for a missing one. */
export type FindKinds = (paths: readonly string[]) => Promise<readonly (string | undefined)[]>;

/**
 * Finds the entries of a copy that have to be covered: those in which an earlier turn, or the directory itself, can redefine the agent. Throws
 * `WORKSPACE_INVALID` for a symlink or anything else that no mount covers reliably. No process of the session runs meanwhile.
 */
export async function findCopyCovers(
  findKinds: FindKinds,
  hidden: Hidden["ofWorkspace"],
): Promise<readonly CopyCover[]> {
  const tops = Object.entries(hidden);
  const kinds = await findKinds(tops.map(([name]) => name));
  const entries = tops.flatMap(([name, cover], index) => listEntries(name, cover, kinds[index]));
  const below = entries.filter(({ kind }) => kind === UNKNOWN);
  const found = await findKinds(below.map(({ path }) => path));
  return entries.flatMap(({ entry, kind, path }) =>
    toCover(path, entry, kind === UNKNOWN ? found[below.findIndex((one) => one.path === path)] : kind),
  );
}

type Covered = { readonly path: string; readonly entry: CoverEntry; readonly kind: string | undefined };

// An engine answers about an entry of a folder only once that is known to be one.
const UNKNOWN = "unknown";

/** Lists what a cover hides, of which the entries of a folder are not yet known. */
function listEntries(name: string, cover: Cover, kind: string | undefined): readonly Covered[] {
  if (typeof cover === "string" || !("entries" in cover)) return [{ path: name, entry: cover, kind }];
  if (kind === undefined || (kind === "file" && cover.mayBeFile === true)) return [];
  if (kind !== "folder") throw uncoverable(name, "directory");
  return Object.entries(cover.entries).map(([child, entry]) => ({ path: `${name}/${child}`, entry, kind: UNKNOWN }));
}

function toCover(path: string, entry: CoverEntry, kind: string | undefined): readonly CopyCover[] {
  if (kind === undefined) return [];
  const expected = typeof entry === "object" && "content" in entry ? "file" : "folder";
  if (kind !== expected) throw uncoverable(path, expected === "file" ? "file" : "directory");
  return [{ path, entry }];
}

function uncoverable(path: string, kind: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" in the session's copy is not a plain ${kind}, so the sandbox cannot hide definitions of agents. Begin a new session.`,
  );
}
