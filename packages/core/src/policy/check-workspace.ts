import { access, constants, realpath, stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { BudgieError } from "../errors.ts";
import { formatOption } from "../option-name.ts";
import { isWithin } from "./is-within.ts";
import { resolveSystemLinks } from "./resolve-system-links.ts";
import { findRefusal, type AllowedRoot, type WorkspaceRefusal, type WorkspaceRules } from "./workspace-rules.ts";

/** Checks a caller's `directory`, which may begin with `~/`, and resolves its symlinks, or throws `WORKSPACE_INVALID`. */
export async function checkWorkspace(asked: string, rules: WorkspaceRules): Promise<string> {
  const { home = "~" } = rules;
  const directory = asked.replace(/^~(?=\/|$)/, () => home);
  const path = await findDirectory(directory);
  const refusal = (await findRefusal(path, rules)) ?? (await findLinkRefusal(directory, path, rules));
  if (refusal === undefined) return path;
  throw invalid(
    directory,
    `${path === directory ? "" : `(really ${JSON.stringify(path)}) `}${refusal.what}`,
    refusal.remedy,
  );
}

/** Refuses a directory named by a symlink that an agent may have created, unless an allowed root covers both the symlink and its target. */
async function findLinkRefusal(
  directory: string,
  path: string,
  { allowedRoots, guarded }: WorkspaceRules,
): Promise<WorkspaceRefusal | undefined> {
  const named = resolve(directory);
  if (guarded === undefined || path === named) return undefined;
  const meant = await resolveSystemLinks(named);
  const isAllowed = (root: AllowedRoot): boolean =>
    isWithin(path, root.path) && (isWithin(meant, root.path) || isWithin(named, root.named));
  if (path === meant || allowedRoots.some(isAllowed)) return undefined;
  return {
    what: "is named by a link that an agent may have made",
    remedy: `Pass ${JSON.stringify(path)} if you mean that, or allow a directory that holds both with ${formatOption("allowedRoots")}.`,
  };
}

async function findDirectory(directory: string): Promise<string> {
  if (!isAbsolute(directory)) {
    throw invalid(directory, "is not an absolute path", "Pass the full path of the project.");
  }
  // Paths are passed on to an engine and a shell, where a NUL would truncate them.
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
