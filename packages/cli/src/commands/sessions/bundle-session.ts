import { BudgieError } from "@budgie/core";
import { findGitAccess } from "@budgie/core/git";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import type { BundleOptions } from "../changes/bundle-changes.ts";
import { formatBundle, writeBundle } from "../changes/write-bundle.ts";
import { findSession } from "./find-session.ts";
import { withSessions } from "./known-homes.ts";

/** Runs `budgie sessions bundle`: writes the commits of a session's own git for a subfolder into a git bundle. */
export async function bundleSession(
  config: Config,
  { file, id: written, json }: BundleOptions,
  host: Host,
): Promise<number> {
  await withSessions(config, host, async ({ list, owner }) => {
    const { entry, record } = findSession(await list(), written);
    const directory = entry?.directory;
    const git = directory === undefined ? undefined : await findSubfolder(directory);
    if (entry?.isolation !== "container" || entry.workspacePath !== "same" || git?.around === undefined) {
      throw new BudgieError(
        "INPUT_INVALID",
        `The session "${record.id}" has no git of its own, which "subfolderGit" gives to a part of a repository. "budgie changes bundle" is for copies.`,
      );
    }
    const source = { id: record.id, session: record.id, directory: git.around, without: git };
    const bundle = await writeBundle({ ...source, file }, config, { host, owner });
    const { directory: around, file: path, references } = bundle;
    host.stdout.write(
      json ? stringifySafely({ file: path, session: record.id, directory: around, references }) : formatBundle(bundle),
    );
  });
  return 0;
}

/** Finds the repository around a subfolder. A person at a terminal names its session, so no rules for calls apply. */
async function findSubfolder(directory: string) {
  const rules = { allowedRoots: [], guarded: undefined };
  const { folders } = await findGitAccess(directory, {
    rules,
    workspace: directory,
    mayWrite: false,
    hasSubfolderGit: true,
  });
  return folders;
}
