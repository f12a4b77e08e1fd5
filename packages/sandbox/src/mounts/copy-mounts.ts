import { join } from "node:path";
import type { StartOptions } from "@budgie/core";
import type { CoverEntry } from "@budgie/core/policy";
import { makeEntry } from "./cover-hidden-paths.ts";
import type { HeldSources } from "./held-sources.ts";
import { readOnlyBind, volumeMount, type SandboxMount, type Volume } from "./mount-settings.ts";

/** The cover of an entry that a copy of the workspace has. */
export type CopyCover = {
  /** The path below the workspace, none of whose folders is a symlink */
  readonly path: string;
  readonly entry: CoverEntry;
};

type CopyRequest = {
  /** Path of the workspace in the sandbox */
  readonly at: string;
  readonly copyCovers?: readonly CopyCover[] | undefined;
  readonly options: Pick<StartOptions, "access">;
  readonly skeleton: string;
  readonly volumes: { readonly copy?: Volume | undefined };
};

/** Returns the mounts of a copy of the workspace and of the covers over it. They show nothing of the directory itself. */
export async function copyMounts(
  heldSources: HeldSources,
  { at, copyCovers = [], options: { access }, skeleton, volumes: { copy } }: CopyRequest,
): Promise<readonly SandboxMount[]> {
  if (copy === undefined) throw new TypeError("This session has no volume for a copy.");
  const whole = { ...volumeMount(copy, at), isReadOnly: access?.workspace === "ro-copy" };
  const covers = copyCovers.map(async ({ entry, path }): Promise<SandboxMount> => {
    const cover = join(skeleton, "copy", path);
    await makeEntry(cover, entry);
    return { settings: readOnlyBind(cover, `${at}/${path}`), source: await heldSources.follow(cover) };
  });
  return [{ settings: whole }, ...(await Promise.all(covers))];
}
