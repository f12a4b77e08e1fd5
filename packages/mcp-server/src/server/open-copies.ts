import { join } from "node:path";
import { createWorkspaceCopies, type OpenCopies } from "@budgie/copies/copying";
import type { ServerConfig } from "../config/server-config.ts";
import type { Host } from "../process/host.ts";
import type { ChangeSetsOpener } from "./change-sets-opener.ts";

type CopiesConfig = Pick<ServerConfig, "copyExclude" | "copyFiles" | "copyInclude" | "stateDir">;

/** Opens the copies of sessions' workspaces, which get what the user's git does not ignore. Their changes become change sets. */
export function openCopies(
  { copyExclude, copyFiles, copyInclude, stateDir }: CopiesConfig,
  { env, home }: Pick<Host, "env" | "home">,
  changes: Pick<ChangeSetsOpener, "open">,
): OpenCopies {
  const folder = join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "git");
  const named = env["GIT_CONFIG_GLOBAL"];
  return createWorkspaceCopies({
    folder: join(stateDir, "copies"),
    wishes: { files: copyFiles, include: copyInclude, exclude: copyExclude },
    userGit: {
      configs: [
        "/etc/gitconfig",
        ...(named === undefined ? [join(folder, "config"), join(home, ".gitconfig")] : [named]),
      ],
      excludes: join(folder, "ignore"),
      home,
    },
    async collect(copy, { agent, base, directory, sessionId }) {
      const sets = await changes.open();
      const stored = await sets.collect({ base, copy: copy.read(), sessionId, agent, directory });
      if (stored === undefined) return undefined;
      const { countChanges } = await import("@budgie/copies/diffs");
      const { refused, ...counts } = countChanges(stored.set);
      return { changeId: stored.id, ...counts, notApplicable: refused };
    },
  });
}
