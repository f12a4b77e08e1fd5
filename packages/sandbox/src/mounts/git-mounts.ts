import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isWithin, type Access, type GitFolders } from "@budgie/core/policy";
import { movedError, type HeldSource, type HeldSources } from "./held-sources.ts";
import type { BindMount, SandboxMount } from "./mount-settings.ts";
import { subfolderGitMounts } from "./subfolder-git-mounts.ts";

export type GitMountOptions = {
  /** Path of the workspace in the sandbox */
  readonly at: string;
  readonly git: GitFolders | undefined;
  readonly mode: Access["workspace"];
  /** Path on the host of the folder for the turn's covers */
  readonly skeleton: string;
};

/**
 * Returns the mounts of a workspace's git. A `.git` file is read-only in any case: whoever writes it decides what the user's own git obeys.
 */
export async function gitMounts(
  workspace: HeldSource,
  heldSources: HeldSources,
  options: GitMountOptions,
): Promise<readonly SandboxMount[]> {
  const { at, git, mode, skeleton } = options;
  const pointer = await heldSources.open(".git", workspace);
  if (git !== undefined && git.around === undefined) {
    if (pointer?.kind !== "file") throw movedError(`${workspace.path}/.git`);
    return folderMounts(workspace, heldSources, { ...options, git });
  }
  return [
    ...(pointer?.kind === "file" && mode === "rw" ? [bind(pointer, `${at}/.git`)] : []),
    ...(await subfolderGitMounts(heldSources, git, skeleton)),
  ];
}

/** Returns the mounts of a worktree's or submodule's git folders at their own paths, read-only but for the writable parts. */
async function folderMounts(
  workspace: HeldSource,
  heldSources: HeldSources,
  { at, git, mode, skeleton }: GitMountOptions & { readonly git: GitFolders },
): Promise<readonly SandboxMount[]> {
  const { common, config, guarded, own, writable } = git;
  const isWritable = mode === "rw" && writable.includes("");

  async function mountPart(name: string, isReadOnly: boolean): Promise<SandboxMount> {
    const path = join(common, name);
    const source = await heldSources.open(path);
    if (source?.kind !== "file" && source?.kind !== "folder") throw movedError(path);
    return bind(source, path, { isReadOnly });
  }

  async function mountCover(name: string, text: string, target: string): Promise<SandboxMount> {
    const path = join(skeleton, ".git", name);
    await mkdir(join(skeleton, ".git"), { recursive: true, mode: 0o755 });
    await writeFile(path, text);
    const source = await heldSources.open(path);
    if (source === undefined) throw movedError(path);
    return bind(source, target);
  }

  // The path in the user's own file may be relative to the host's workspace.
  const cover = await mountCover("pointer", `gitdir: ${own}\n`, `${at}/.git`);
  const hostPath = `${workspace.path}/.git`;
  return [
    cover,
    // `git worktree prune` would remove the HEAD and index of a worktree whose `.git` is missing there.
    ...(isWithin(hostPath, at) ? [] : [{ ...cover, settings: { ...cover.settings, target: hostPath } }]),
    await mountPart("", !isWritable),
    ...(config === undefined
      ? []
      : [await mountCover("config", `${config}\n\n[core]\n\tworktree = ${at}\n`, join(common, "config"))]),
    ...(await Promise.all(writable.filter((name) => name !== "").map((name) => mountPart(name, mode === "ro")))),
    ...(await Promise.all(guarded.map((name) => mountPart(name, true)))),
  ];
}

/** Returns a mount that leaves out the host's own mounts below its source. */
function bind(source: HeldSource, target: string, { isReadOnly = true } = {}): SandboxMount {
  const settings: BindMount = { type: "bind", source: source.path, target, isReadOnly, isNonRecursive: true };
  return { settings, source };
}
