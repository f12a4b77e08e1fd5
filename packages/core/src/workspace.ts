import { access, constants, realpath, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { BudgieError } from "./errors.ts";
import { findRefusal, type WorkspaceRules } from "./workspace-rules.ts";

/** Checks a caller's `directory` and resolves its symlinks, or throws `WORKSPACE_INVALID`. */
export async function checkWorkspace(directory: string, rules: WorkspaceRules): Promise<string> {
  const path = await findDirectory(directory);
  const refusal = await findRefusal(path, rules);
  if (refusal === undefined) return path;
  throw invalid(
    directory,
    `${path === directory ? "" : `(really ${JSON.stringify(path)}) `}${refusal.what}`,
    refusal.remedy,
  );
}

async function findDirectory(directory: string): Promise<string> {
  if (!isAbsolute(directory)) {
    throw invalid(directory, "is not an absolute path", "Pass the full path of the project.");
  }
  // The rest of the program treats paths as text for an engine and a shell: a NUL would cut them.
  if (directory.includes("\0")) throw invalid(directory, "holds a NUL character", "Pass the full path of the project.");
  try {
    const path = await realpath(directory);
    if ((await stat(path)).isDirectory()) {
      await access(path, constants.R_OK | constants.X_OK);
      return path;
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw invalid(directory, `cannot be used (${code})`, "Check that it exists and that you may read it.");
  }
  throw invalid(directory, "is not a directory", "Pass the directory that holds the file.");
}

function invalid(directory: string, what: string, remedy: string): BudgieError {
  return new BudgieError("WORKSPACE_INVALID", `The directory ${JSON.stringify(directory)} ${what}. ${remedy}`);
}
