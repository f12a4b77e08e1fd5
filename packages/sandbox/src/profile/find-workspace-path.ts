import { BudgieError, type StartOptions } from "@budgie/core";
import { findTakenPath } from "./find-taken-path.ts";
import { SANDBOX } from "./sandbox-paths.ts";

/** Finds the path of a workspace in its sandbox. Throws `WORKSPACE_INVALID` for one that would hide, or lie in, what the sandbox needs. */
export function findWorkspacePath({
  directory,
  workspacePath,
}: Pick<StartOptions, "directory" | "workspacePath">): string {
  if (workspacePath !== "same") return SANDBOX.workspace;
  const taken = findTakenPath(directory);
  if (taken === undefined) return directory;
  throw new BudgieError(
    "WORKSPACE_INVALID",
    `The directory "${directory}" cannot have its own path in a sandbox, which has its own "${taken}". Set "workspacePath" to "/workspace" for it.`,
  );
}
