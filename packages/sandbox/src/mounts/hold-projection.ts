import { BudgieError, type Projection } from "@budgie/core";
import { findTakenPath } from "../profile/find-taken-path.ts";
import { movedError, type HeldSource, type HeldSources } from "./held-sources.ts";

/**
 * Opens a projection; `undefined` for a missing one that is not required. Throws `CONFIG_INVALID` for a required one that is missing or
 * has a path of the sandbox's own, and `WORKSPACE_INVALID` if a symlink leads to it, since an agent may have made that.
 */
export async function holdProjection(
  heldSources: HeldSources,
  { isRequired = false, source: path }: Projection,
): Promise<HeldSource | undefined> {
  if (!isRequired) return heldSources.follow(path);
  const taken = findTakenPath(path);
  if (taken !== undefined) throw mountError(path, `has a path that a sandbox needs for its own "${taken}"`);
  const source = await heldSources.open(path);
  if (source === undefined) throw mountError(path, "is missing");
  if (source.kind === "link") throw movedError(path);
  // A socket is as good through a read-only mount as without one.
  if (source.kind === "other") throw mountError(path, "is neither a file nor a folder");
  return source;
}

function mountError(path: string, what: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The mount ${JSON.stringify(path)} ${what}. Correct it, or take it out of "mounts" in the configuration file.`,
  );
}
