import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError } from "../errors.ts";
import { PROTECTABLE } from "./executable-names.ts";

/** Those of a workspace's files and folders that the host runs and that exist, or `WORKSPACE_INVALID` if one is a link. */
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
    // Git writes into its folder all the time; as a file it only points to it.
    if (path === ".git") return found.isFile();
  }
  return true;
}

function unprotectable(path: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" is a link or cannot be looked at, so it cannot be protected. Replace it, or leave --protect-executable-paths out.`,
  );
}
