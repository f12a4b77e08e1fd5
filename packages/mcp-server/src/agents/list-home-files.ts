import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { BudgieError, type Agent, type HomeFile } from "@budgie/core";
import { isWithin } from "@budgie/core/policy";

/**
 * Returns the files for an agent's home. Throws `CONFIG_INVALID` for one in the workspace: an agent could replace it by a symlink
 * to another file of the user.
 */
export function listHomeFiles({ file: place, name, program }: Agent, directory: string): readonly HomeFile[] {
  const files = Object.entries(program?.home ?? {});
  const [, exposed] = files.find(([, file]) => isInside(file, directory)) ?? [];
  if (exposed === undefined) return files.map(([path, file]) => ({ path, content: { file } }));
  throw new BudgieError(
    "CONFIG_INVALID",
    `"${exposed}", which the agent "${name}" (${place}) gets in its home, lies in the directory that it works in, where agents can ` +
      `replace it. Keep it elsewhere.`,
  );
}

/** Tells whether a file, or a symlink to it, is in a folder. */
function isInside(file: string, folder: string): boolean {
  const entry = join(resolveLinks(dirname(file)), basename(file));
  return [entry, resolveLinks(file)].some((path) => isWithin(path, folder));
}

/** Resolves a path; a missing one stays as it is, and the runner reports it. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
