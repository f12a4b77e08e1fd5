import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { watchExecutablePaths } from "../../src/changes/watch-executable-paths.ts";
import { commit, createRepository, git, replaceGit, write } from "./executable-repository.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

type Change = (workspace: string) => void;

describe("what git runs by itself is reported first, and explained, when a turn", () => {
  const byConfig = "git runs the commands that it names, some of them at every git status";

  it.each<[string, string, string, Change]>([
    [
      "puts a file in place of .git",
      ".git",
      "git uses the repository that it leads to, with the hooks and configuration of that repository",
      replaceGit,
    ],
    [
      "names another folder in commondir",
      ".git/commondir",
      "git reads hooks and configuration from the folder that it names",
      (root) => write(root, ".git/commondir", "../src"),
    ],
    [
      "adds a configuration of the worktree's own",
      ".git/config.worktree",
      "git reads configuration from it, besides its config",
      (root) => write(root, ".git/config.worktree", ""),
    ],
    ["sets core.fsmonitor", ".git/config", byConfig, (root) => git(root, "config", "core.fsmonitor", "./evil")],
    ["creates a repository", "src/new/.git/config", byConfig, (root) => git(root, "init", "--quiet", "src/new")],
    [
      "creates one where nothing else is searched",
      "node_modules/new/.git/config",
      byConfig,
      (root) => git(root, "init", "--quiet", "node_modules/new"),
    ],
    [
      "creates one where everything is searched",
      ".kiro/new/.git/config",
      byConfig,
      (root) => git(root, "init", "--quiet", ".kiro/new"),
    ],
    [
      "changes a file that the configuration includes",
      "shared/git.conf",
      "git reads or runs it, because git's configuration names it",
      (root) => write(root, "shared/git.conf", "[core]"),
    ],
    [
      "changes a filter that the configuration names",
      "node_modules/filter/clean.sh",
      "git reads or runs it, because git's configuration names it",
      (root) => write(root, "node_modules/filter/clean.sh", "evil"),
    ],
  ])("%s", async (_what, path, ...[text, change]) => {
    const workspace = createRepository();
    git(workspace, "config", "include.path", "../shared/git.conf");
    git(workspace, "config", "filter.x.clean", "node_modules/filter/clean.sh %f");
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    change(workspace);
    write(workspace, ".envrc", "evil");

    const { changedExecutablePaths, gitChanges, warnings } = await watch.findChanges();
    const sentence = `"${path}" was changed: ${text}.`;
    expect(changedExecutablePaths.slice(0, 1)).toEqual([path]);
    expect([gitChanges[0], warnings[0]]).toEqual([sentence, sentence]);
  });

  it("adds a hook in the folder that core.hooksPath names", async () => {
    const workspace = createRepository();
    git(workspace, "config", "core.hooksPath", "tools/hooks");
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, "tools/hooks/pre-commit", "evil");

    const { changedExecutablePaths, gitChanges } = await watch.findChanges();
    expect(changedExecutablePaths).toEqual(["tools/hooks/pre-commit"]);
    expect(gitChanges).toHaveLength(1);
  });

  it("adds many hooks, of which only the first are described", async () => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    for (let index = 0; index < 30; index++) write(workspace, `.git/hooks/${index}`, "evil");

    const { changedExecutablePaths, gitChanges } = await watch.findChanges();
    expect([changedExecutablePaths.length, gitChanges.length]).toEqual([30, 10]);
  });

  it("changes nothing in an existing repository where nothing else is searched", async () => {
    const workspace = createRepository();
    git(workspace, "init", "--quiet", "node_modules/old");
    await sleep(30);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    expect(await watch.findChanges()).toMatchObject({ changedExecutablePaths: [], gitChanges: [], warnings: [] });
  });

  it("adds a worktree, which is not reported", async () => {
    const workspace = createRepository();
    commit(workspace);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    git(workspace, "worktree", "add", "--quiet", join(createTemporaryFolder(), "tree"));

    const { changedExecutablePaths, gitChanges } = await watch.findChanges();
    expect(changedExecutablePaths).toContain(".git/worktrees/tree/commondir");
    expect(gitChanges).toEqual([]);
  });
});

describe("a git folder outside the workspace is not searched", () => {
  it.each([
    ["that does not name the workspace", "gitdir: ../home\n"],
    ["that the turn named", undefined],
  ])("%s", async (_what, before) => {
    const root = createTemporaryFolder();
    const [workspace, home] = [join(root, "workspace"), join(root, "home")];
    mkdirSync(workspace);
    write(home, "hooks/private", "x");
    if (before !== undefined) write(workspace, ".git", before);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".git", "gitdir: ../home\n");
    write(home, "hooks/private", "y");

    expect(JSON.stringify(await watch.findChanges())).not.toContain("private");
  });
});
