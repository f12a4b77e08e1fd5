import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { BudgieError } from "@budgie/core";
import { isWithin, type GitFolders } from "@budgie/core/policy";
import { findTakenPath } from "../profile/find-taken-path.ts";
import { SANDBOX } from "../profile/sandbox-paths.ts";
import { makeMountPoint } from "./cover-hidden-paths.ts";
import { movedError, type HeldSources } from "./held-sources.ts";
import type { BindMount, SandboxMount } from "./mount-settings.ts";

/**
 * Returns the read-only mounts by which git finds the session's own folder from a repository's subfolder: one in place of the repository's
 * directory, which shows nothing of it, and those of its objects and references. Other git folders have none.
 */
export async function subfolderGitMounts(
  heldSources: HeldSources,
  git: GitFolders | undefined,
  skeleton: string,
): Promise<readonly SandboxMount[]> {
  if (git?.around === undefined) return [];
  const { around, common, own } = git;
  const taken = findTakenPath(around);
  if (taken !== undefined) throw takenError(around, taken);

  async function mount(path: string, target: string, { isRequired = true } = {}): Promise<readonly SandboxMount[]> {
    const source = await heldSources.open(path);
    if (source === undefined && !isRequired) return [];
    if (source?.kind !== "file" && source?.kind !== "folder") throw movedError(path);
    const settings: BindMount = { type: "bind", source: path, target, isReadOnly: true, isNonRecursive: true };
    return [{ settings, source }];
  }

  const place = toPlace(skeleton);
  await mkdir(place, { recursive: true, mode: 0o755 });
  await writeFile(join(place, ".git"), `gitdir: ${SANDBOX.subfolderGit}\n`);
  const shown = await Promise.all([
    mount(place, around),
    mount(join(own, "HEAD"), `${SANDBOX.repository}/HEAD`),
    ...["objects", "refs"].map((name) => mount(join(common, name), `${SANDBOX.repository}/${name}`)),
    ...["packed-refs", "shallow"].map((name) =>
      mount(join(common, name), `${SANDBOX.repository}/${name}`, { isRequired: false }),
    ),
  ]);
  return shown.flat();
}

/** Makes the mount points of a turn's other mounts in place of the repository's directory, which is read-only in the sandbox. */
export async function makePointsAround(
  mounts: readonly SandboxMount[],
  around: string,
  skeleton: string,
): Promise<void> {
  for (const { settings, source } of mounts) {
    const path = relative(around, settings.target);
    if (path === "" || !isWithin(settings.target, around)) continue;
    await makeMountPoint(join(toPlace(skeleton), path), source?.kind ?? "folder");
  }
}

/** Returns the path on the host of what stands in place of the repository's directory. */
function toPlace(skeleton: string): string {
  return join(skeleton, ".git", "around");
}

function takenError(around: string, taken: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `The repository "${around}" cannot have its own path in a sandbox, which has its own "${taken}". Set "subfolderGit" to false for it.`,
  );
}
