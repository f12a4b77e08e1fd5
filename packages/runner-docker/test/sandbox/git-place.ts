import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSessionId } from "@budgie/core";
import type { Access } from "@budgie/core/policy";
import { findGitAccess } from "../../../core/src/git/find-git-access.ts";
import type { GitAccess } from "../../../core/src/git/git-access.ts";
import { runCommand, type DockerPlace, type Ran } from "../helpers/docker-place.ts";

// The variables that budgie sets from the user's global configuration.
const IDENTITY = {
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.org",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.org",
};

/** A repository with two worktrees beside it, and a submodule in it. */
export type GitPlace = {
  readonly main: string;
  readonly worktree: string;
  readonly other: string;
  readonly submodule: string;
};

/** Creates the repositories below a folder with the host's git. */
export function createGitPlace(root: string): GitPlace {
  const [main, library] = [join(root, "main"), join(root, "library")];
  for (const folder of [main, library]) {
    mkdirSync(join(folder, "src"), { recursive: true });
    onHost(folder, "init", "-q", "-b", "trunk");
    writeFileSync(join(folder, "a.txt"), "one\n");
    writeFileSync(join(folder, "src/b.txt"), "one\n");
    onHost(folder, "add", ".");
    onHost(folder, "commit", "-qm", "one");
  }
  onHost(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib");
  onHost(main, "commit", "-qm", "library");
  const [worktree, other] = [join(root, "tree"), join(root, "other")];
  for (const tree of [worktree, other]) onHost(main, "worktree", "add", "-q", tree);
  return { main, worktree, other, submodule: join(main, "lib") };
}

/** Runs the host's own git, as its user does at a terminal. */
export function onHost(directory: string, ...args: readonly string[]): string {
  const env = { ...process.env, ...IDENTITY, GIT_CONFIG_GLOBAL: "/dev/null" };
  return execFileSync("git", args, { cwd: directory, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs the command by which a result says that agents may commit. */
export async function allowCommits(directory: string): Promise<void> {
  const { notice = "" } = await findAccess(directory, "rw");
  execFileSync("sh", ["-c", notice.split("run once: ")[1] ?? "false"]);
}

/** Runs a script in a directory like an agent, with the git that its turn would get. */
export type GitAgent = (directory: string, script: string, mode?: Access["workspace"]) => Promise<Ran>;

/** Opens a session for agents that run scripts. */
export async function openGitAgent(place: DockerPlace): Promise<GitAgent> {
  const { runner } = await place.createRunner();
  const session = await runner.openSession(createSessionId());
  const egress = { mode: "none", hosts: [] } as const;
  return async (directory, script, workspace = "rw") => {
    const command = { argv: ["sh", "-c", script] as const, env: IDENTITY, projections: [] };
    const { folders: git } = await findAccess(directory, workspace);
    return runCommand(session, command, { directory, git, access: { workspace, egress, limits: {} } });
  };
}

function findAccess(directory: string, mode: Access["workspace"]): Promise<GitAccess> {
  const rules = { allowedRoots: [], guarded: undefined };
  return findGitAccess(directory, { rules, workspace: "/workspace", mayWrite: mode === "rw" });
}
