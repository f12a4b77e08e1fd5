import { chmodSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { watchExecutablePaths } from "../../src/changes/watch-executable-paths.ts";
import { commit, createRepository, git, toPackage, write } from "./executable-repository.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

type Change = (workspace: string) => void;

describe("paths that the host executes are reported when a turn", () => {
  it.each<[string, string, Change]>([
    ["adds a git hook", ".git/hooks/pre-commit", (root) => write(root, ".git/hooks/pre-commit", "evil")],
    ["changes a git hook's content", ".git/hooks/old", (root) => write(root, ".git/hooks/old", "evil")],
    ["makes a git hook executable", ".git/hooks/old", (root) => chmodSync(join(root, ".git/hooks/old"), 0o755)],
    ["removes a git hook", ".git/hooks/old", (root) => unlinkSync(join(root, ".git/hooks/old"))],
    ["points a symlink elsewhere", ".vscode/link", (root) => relink(root, ".vscode/link", "evil")],
    ["replaces a folder by a symlink", ".cursor", (root) => symlinkSync("src", join(root, ".cursor"))],
    ["adds to a rebase", ".git/rebase-merge/git-rebase-todo", (root) => write(root, TODO, "exec evil")],
    ["adds one below a folder whose name is not UTF-8", "odd\uFFFD/.envrc", (root) => writeOdd(root, ".envrc")],
    ["adds an MCP server", ".mcp.json", (root) => write(root, ".mcp.json", "{}")],
    ["adds a Kiro hook", ".kiro/hooks/a.json", (root) => write(root, ".kiro/hooks/a.json", "{}")],
    ["adds a Claude hook", ".claude/settings.json", (root) => write(root, ".claude/settings.json", "{}")],
    ["adds a Cursor file", ".cursor/mcp.json", (root) => write(root, ".cursor/mcp.json", "{}")],
    ["adds a husky hook", ".husky/pre-push", (root) => write(root, ".husky/pre-push", "evil")],
    ["adds a dev container", ".devcontainer/a/b.json", (root) => write(root, ".devcontainer/a/b.json", "{}")],
    ["changes a task", ".vscode/tasks.json", (root) => write(root, ".vscode/tasks.json", "[1]")],
    [
      "adds a run configuration",
      ".idea/runConfigurations/a.xml",
      (root) => write(root, ".idea/runConfigurations/a.xml", "x"),
    ],
    ["adds an .envrc", ".envrc", (root) => write(root, ".envrc", "evil")],
    ["adds a nested .envrc", "src/deep/.envrc", (root) => write(root, "src/deep/.envrc", "evil")],
    ["adds a workflow", ".github/workflows/a.yml", (root) => write(root, ".github/workflows/a.yml", "on: push")],
    ["adds a pipeline", ".gitlab-ci.yml", (root) => write(root, ".gitlab-ci.yml", "x")],
    ["adds a Jenkinsfile", "Jenkinsfile", (root) => write(root, "Jenkinsfile", "x")],
    ["changes a script", "package.json", (root) => write(root, "package.json", toPackage({ test: "evil" }))],
    [
      "adds a nested script",
      "packages/a/package.json",
      (root) => write(root, "packages/a/package.json", toPackage({ x: "y" })),
    ],
    ["breaks a package.json", "package.json", (root) => write(root, "package.json", "{")],
    ["spells a name with capitals", ".VSCode/tasks.json", (root) => write(root, ".VSCode/tasks.json", "[]")],
    ["hides its name", "src/.env rc/.envrc", (root) => write(root, "src/.env\u200B\nrc/.envrc", "x")],
  ])("%s", async (_what, path, change) => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    change(workspace);

    const { changedExecutablePaths, warnings } = await watch.findChanges();
    expect(changedExecutablePaths).toContain(path);
    expect(warnings).toEqual([]);
  });

  it("creates a repository in a folder of any name", async () => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    git(workspace, "init", "--quiet", "--bare", "src/bare");
    git(workspace, "init", "--quiet", "src/nested");

    const { changedExecutablePaths } = await watch.findChanges();
    expect(changedExecutablePaths).toEqual(expect.arrayContaining(["src/bare/config", "src/nested/.git/config"]));
  });

  it("makes the workspace's root a repository, and changes something else", async () => {
    const workspace = createTemporaryFolder();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    git(workspace, "init", "--quiet", "--bare", ".");
    write(workspace, "src/.envrc", "evil");

    const { changedExecutablePaths } = await watch.findChanges();
    expect(changedExecutablePaths).toEqual(expect.arrayContaining(["config", "src/.envrc"]));
  });

  it("changes the folder outside the workspace that a worktree's .git names", async () => {
    const { main, workspace } = createWorktree();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(main, ".git/hooks/pre-commit", "evil");
    write(main, ".git/worktrees/tree/config.worktree", "evil");

    const { changedExecutablePaths } = await watch.findChanges();
    expect(changedExecutablePaths).toEqual([
      join(main, ".git/worktrees/tree/config.worktree"),
      join(main, ".git/hooks/pre-commit"),
    ]);
  });

  it("leaves a symlink out of that folder, or a setuid file in it", async () => {
    const { main, workspace } = createWorktree();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    symlinkSync(join(main, "package.json"), join(main, ".git/worktrees/tree/COMMIT_EDITMSG"));
    symlinkSync("../worktrees/tree/HEAD", join(main, ".git/refs/inside"));
    write(main, ".git/objects/run", "x");
    chmodSync(join(main, ".git/objects/run"), 0o4755);

    const { changedExecutablePaths, warnings } = await watch.findChanges();
    const link = join(main, ".git/worktrees/tree/COMMIT_EDITMSG");
    expect(changedExecutablePaths).toEqual([join(main, ".git/objects/run")]);
    expect(warnings).toEqual([
      expect.stringContaining('/.git/objects/run" is a setuid file'),
      `New links lead out of the workspace: "${link}" to "${main}/package.json".`,
    ]);
  });

  it("points a worktree elsewhere", async () => {
    const { workspace } = createWorktree();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".git", "gitdir: /tmp/evil\n");

    expect((await watch.findChanges()).changedExecutablePaths).toContain(".git");
  });

  it("changes a submodule's hooks", async () => {
    const workspace = createRepository();
    const library = createRepository();
    commit(library);
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "library");
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".git/modules/library/hooks/post-checkout", "evil");

    expect((await watch.findChanges()).changedExecutablePaths).toEqual([".git/modules/library/hooks/post-checkout"]);
  });

  it("changes a file too large to read", async () => {
    const workspace = createRepository();
    write(workspace, ".idea/large.xml", "a".repeat(2_000_000));
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".idea/large.xml", "b".repeat(2_000_000));

    expect((await watch.findChanges()).changedExecutablePaths).toEqual([".idea/large.xml"]);
  });
});

describe("nothing is reported when a turn", () => {
  it.each<[string, Change]>([
    ["does nothing", () => undefined],
    ["works on the code", (root) => write(root, "src/a.ts", "b")],
    [
      "changes a package.json apart from its scripts",
      (root) => write(root, "package.json", toPackage({ test: "vitest" }, "2")),
    ],
    ["installs a package", (root) => write(root, "node_modules/a/package.json", toPackage({ postinstall: "x" }))],
    ["commits", commit],
    ["writes a file again with its old content", (root) => write(root, ".vscode/tasks.json", "[]")],
    ["changes files that a forge does not run", (root) => write(root, ".github/README.md", "x")],
  ])("%s", async (_what, change) => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    change(workspace);

    expect(await watch.findChanges()).toMatchObject({ changedExecutablePaths: [], gitChanges: [], warnings: [] });
  });
});

describe("a turn that changes very many such files", () => {
  it("gets the names of the first, and their number", async () => {
    const workspace = createTemporaryFolder();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;
    for (let number = 0; number < 1001; number++) write(workspace, `.husky/${number}`, "x");

    const { changedExecutablePaths, warnings } = await watch.findChanges();

    expect(changedExecutablePaths).toHaveLength(200);
    expect(warnings).toEqual([expect.stringContaining("changed 1,001 files")]);
  });
});

const TODO = ".git/rebase-merge/git-rebase-todo";

/** Writes a file in a folder whose name is not UTF-8. */
function writeOdd(root: string, name: string): void {
  const folder = Buffer.concat([Buffer.from(`${root}/odd`), Buffer.from([0xff])]);
  mkdirSync(folder);
  writeFileSync(Buffer.concat([folder, Buffer.from(`/${name}`)]), "x");
}

function relink(root: string, path: string, target: string): void {
  unlinkSync(join(root, path));
  symlinkSync(target, join(root, path));
}

function createWorktree(): { readonly main: string; readonly workspace: string } {
  const main = createRepository();
  commit(main);
  const workspace = join(createTemporaryFolder(), "tree");
  git(main, "worktree", "add", "--quiet", workspace);
  return { main, workspace };
}
