import { join } from "node:path";
import { createWorkspaceCopies, type OpenCopies } from "@budgie/copies/copying";
import type { ServerConfig } from "../config/server-config.ts";
import type { Host } from "../process/host.ts";

/** Opens the copies of sessions' workspaces, which get what the user's git does not ignore. */
export function openCopies(
  { copyExclude, copyFiles, copyInclude, stateDir }: ServerConfig,
  { env, home }: Pick<Host, "env" | "home">,
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
  });
}
