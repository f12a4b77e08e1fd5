import { BudgieError } from "@budgie/core";
import { findRefusal, isWithin, type WorkspaceRules } from "@budgie/core/policy";
import type { WorkspaceSettings } from "./settings.ts";

/** Throws `CONFIG_INVALID` for a configured mount that would show a sandbox what no workspace may hold. */
export async function refuseGuardedMounts(
  workspaces: readonly Pick<WorkspaceSettings, "mounts">[],
  { allowedRoots, guarded }: WorkspaceRules,
): Promise<void> {
  for (const { named, option, path } of workspaces.flatMap(({ mounts = [] }) => mounts)) {
    // Allowed roots restrict callers, and the user names mounts. Only a root around a mount has a say: it may open a dot-directory.
    const around = allowedRoots.filter((root) => isWithin(path, root.path));
    const refusal = await findRefusal(path, { guarded, allowedRoots: around });
    if (refusal === undefined) continue;
    const real = named === path ? "" : `(really ${JSON.stringify(path)}) `;
    throw new BudgieError(
      "CONFIG_INVALID",
      `The path ${JSON.stringify(named)} of ${option} ${real}${refusal.what}. Name another path, or take it out.`,
    );
  }
}
