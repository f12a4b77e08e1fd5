import { join } from "node:path";
import { createWorkspaceCopies, type OpenCopies } from "@budgie/copies/copying";
import { escapeForTerminal } from "@budgie/core/text";
import type { ServerConfig } from "../config/server-config.ts";
import type { Host } from "../process/host.ts";
import type { ChangeSetsOpener } from "./change-sets-opener.ts";

// An agent may have changed any number; "changes" names all.
const MOST_NAMED = 20;

type CopiesConfig = Pick<
  ServerConfig,
  "copyExclude" | "copyFiles" | "copyInclude" | "copyWorktreeInclude" | "stateDir" | "transport"
>;

/** Opens the copies of sessions' workspaces, which get what the user's git does not ignore. Their changes become change sets. */
export function openCopies(
  { copyExclude, copyFiles, copyInclude, copyWorktreeInclude, stateDir, transport }: CopiesConfig,
  { env, home, report }: Pick<Host, "env" | "home" | "report">,
  changes: Pick<ChangeSetsOpener, "open" | "settle">,
): OpenCopies {
  const folder = join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "git");
  const named = env["GIT_CONFIG_GLOBAL"];
  return createWorkspaceCopies({
    folder: join(stateDir, "copies"),
    wishes: { files: copyFiles, include: copyInclude, worktreeInclude: copyWorktreeInclude, exclude: copyExclude },
    userGit: {
      configs: [
        "/etc/gitconfig",
        ...(named === undefined ? [join(folder, "config"), join(home, ".gitconfig")] : [named]),
      ],
      excludes: join(folder, "ignore"),
      home,
    },
    openSets: changes.open,
    async settle(directory) {
      for (const line of await changes.settle(directory)) report(escapeForTerminal(line));
    },
    async collect(copy, { agent, base, directory, sessionId, signal }) {
      const [sets, { beginDrift, reviewSet }] = await Promise.all([changes.open(), import("@budgie/copies/review")]);
      const early = beginDrift({ sets, base, sessionId, directory });
      try {
        const stored = await sets.collect({
          base: base.manifest,
          startedMs: base.startedMs,
          read: (options) => early.pauseDuring(copy.read(options)),
          sessionId,
          agent,
          directory,
          signal,
        });
        if (stored === undefined) return undefined;
        const { countChanges } = await import("@budgie/copies/diffs");
        const { guarded, refused, ...counts } = countChanges(stored.set);
        const named = { guarded: guarded.slice(0, MOST_NAMED), notApplicable: refused.slice(0, MOST_NAMED) };
        // The sets of other clients are not told; a client's own are those that its tool names.
        const others = transport === "http" ? [] : undefined;
        const review = await reviewSet(stored, { sets, base, others, early });
        return { changeId: stored.id, ...counts, ...named, review };
      } finally {
        early.stop();
      }
    },
  });
}
