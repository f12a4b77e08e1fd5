import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "../errors.ts";
import { formatOption } from "../option-name.ts";
import { PROTECTABLE } from "./name-kind.ts";

/** Finds the existing files and folders of a workspace that the host runs. Throws `WORKSPACE_INVALID` if one is a symlink. */
export async function findProtectablePaths(workspace: string): Promise<readonly string[]> {
  const found = await Promise.all(PROTECTABLE.map((path) => isProtectable(workspace, path)));
  return PROTECTABLE.filter((_, index) => found[index]);
}

async function isProtectable(workspace: string, path: string): Promise<boolean> {
  const parts = path.split("/");
  for (const [index] of parts.entries()) {
    const part = join(workspace, ...parts.slice(0, index + 1));
    const found = await lstat(part).catch((error: NodeJS.ErrnoException) => error);
    if (found instanceof Error && (found.code === "ENOENT" || found.code === "ENOTDIR")) return false;
    if (found instanceof Error || found.isSymbolicLink()) throw unprotectable(part);
    // Git writes into its folder all the time. A `.git` file only names another folder.
    if (path === ".git") return found.isFile();
  }
  return true;
}

function unprotectable(path: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" is a symlink or cannot be read, so it cannot be protected. Replace it, or leave ${formatOption("protectExecutablePaths")} out.`,
  );
}
