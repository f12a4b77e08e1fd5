import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { watchExecutablePaths } from "../../src/executable-paths/watch-executable-paths.ts";
import { holdChild, type HeldFolder, type OpenFolder } from "../../src/walk/held-folder.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

type Change = (workspace: string) => void;

describe("the paths that the host executes are reported when a turn", () => {
  it.each<[string, string, Change]>([
    ["adds a git hook", ".git/hooks/pre-commit", (root) => write(root, ".git/hooks/pre-commit", "evil")],
    ["changes a git hook's content", ".git/hooks/old", (root) => write(root, ".git/hooks/old", "evil")],
    ["makes a git hook executable", ".git/hooks/old", (root) => chmodSync(join(root, ".git/hooks/old"), 0o755)],
    ["removes a git hook", ".git/hooks/old", (root) => unlinkSync(join(root, ".git/hooks/old"))],
    ["points a link elsewhere", ".vscode/link", (root) => relink(root, ".vscode/link", "evil")],
    ["puts a link in place of a folder", ".cursor", (root) => symlinkSync("src", join(root, ".cursor"))],
    ["adds to a rebase", ".git/rebase-merge/git-rebase-todo", (root) => write(root, TODO, "exec evil")],
    ["adds one below a folder whose name is no text", "odd\uFFFD/.envrc", (root) => writeOdd(root, ".envrc")],
    ["adds an MCP server", ".mcp.json", (root) => write(root, ".mcp.json", "{}")],
    ["adds a Kiro hook", ".kiro/hooks/a.json", (root) => write(root, ".kiro/hooks/a.json", "{}")],
    ["adds a hook of Claude's", ".claude/settings.json", (root) => write(root, ".claude/settings.json", "{}")],
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

    const { changedExecutablePaths, warnings } = await watch.toChanges();
    expect(changedExecutablePaths).toContain(path);
    expect(warnings).toEqual([]);
  });

  it("plants a repository in a folder, whatever its name", async () => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    git(workspace, "init", "--quiet", "--bare", "src/bare");
    git(workspace, "init", "--quiet", "src/nested");

    const { changedExecutablePaths } = await watch.toChanges();
    expect(changedExecutablePaths).toEqual(expect.arrayContaining(["src/bare/config", "src/nested/.git/config"]));
  });

  it("makes a repository of the workspace's root, and changes something else", async () => {
    const workspace = createTemporaryFolder();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    git(workspace, "init", "--quiet", "--bare", ".");
    write(workspace, "src/.envrc", "evil");

    const { changedExecutablePaths } = await watch.toChanges();
    expect(changedExecutablePaths).toEqual(expect.arrayContaining(["config", "src/.envrc"]));
  });

  it("changes what a worktree's .git leads to, outside the workspace", async () => {
    const main = createRepository();
    commit(main);
    const workspace = join(createTemporaryFolder(), "tree");
    git(main, "worktree", "add", "--quiet", workspace);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(main, ".git/hooks/pre-commit", "evil");
    write(main, ".git/worktrees/tree/config.worktree", "evil");

    const { changedExecutablePaths } = await watch.toChanges();
    expect(changedExecutablePaths).toEqual([
      join(main, ".git/worktrees/tree/config.worktree"),
      join(main, ".git/hooks/pre-commit"),
    ]);
  });

  it("points a worktree elsewhere", async () => {
    const main = createRepository();
    commit(main);
    const workspace = join(createTemporaryFolder(), "tree");
    git(main, "worktree", "add", "--quiet", workspace);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".git", "gitdir: /tmp/evil\n");

    expect((await watch.toChanges()).changedExecutablePaths).toContain(".git");
  });

  it("changes a submodule's hooks", async () => {
    const workspace = createRepository();
    const library = createRepository();
    commit(library);
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "library");
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".git/modules/library/hooks/post-checkout", "evil");

    expect((await watch.toChanges()).changedExecutablePaths).toEqual([".git/modules/library/hooks/post-checkout"]);
  });

  it("changes a file too large to read", async () => {
    const workspace = createRepository();
    write(workspace, ".idea/large.xml", "a".repeat(2_000_000));
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".idea/large.xml", "b".repeat(2_000_000));

    expect((await watch.toChanges()).changedExecutablePaths).toEqual([".idea/large.xml"]);
  });
});

describe("what git runs by itself comes first, and is explained, when a turn", () => {
  const byConfig = "git runs the commands that it names, some of them at every git status";

  it.each<[string, string, string, Change]>([
    [
      "puts a file in place of .git",
      ".git",
      "git takes the repository that it leads to, with that one's hooks and configuration",
      replaceGit,
    ],
    [
      "names another folder in commondir",
      ".git/commondir",
      "git takes its hooks and configuration from the folder that it names",
      (root) => write(root, ".git/commondir", "../src"),
    ],
    [
      "adds a configuration of the worktree's own",
      ".git/config.worktree",
      "git takes configuration from it, besides its config",
      (root) => write(root, ".git/config.worktree", ""),
    ],
    ["sets core.fsmonitor", ".git/config", byConfig, (root) => git(root, "config", "core.fsmonitor", "./evil")],
    ["plants a repository", "src/new/.git/config", byConfig, (root) => git(root, "init", "--quiet", "src/new")],
    [
      "changes a file that the configuration includes",
      "shared/git.conf",
      "git's configuration names it, so git reads or runs it",
      (root) => write(root, "shared/git.conf", "[core]"),
    ],
    [
      "changes a filter that the configuration names",
      "node_modules/filter/clean.sh",
      "git's configuration names it, so git reads or runs it",
      (root) => write(root, "node_modules/filter/clean.sh", "evil"),
    ],
  ])("%s", async (_what, path, text, change) => {
    const workspace = createRepository();
    git(workspace, "config", "include.path", "../shared/git.conf");
    git(workspace, "config", "filter.x.clean", "node_modules/filter/clean.sh %f");
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    change(workspace);
    write(workspace, ".envrc", "evil");

    const { changedExecutablePaths, gitChanges, warnings } = await watch.toChanges();
    const sentence = `"${path}" was changed: ${text}.`;
    expect(changedExecutablePaths.slice(0, 1)).toEqual([path]);
    expect([gitChanges[0], warnings[0]]).toEqual([sentence, sentence]);
  });

  it("adds a hook where core.hooksPath has them", async () => {
    const workspace = createRepository();
    git(workspace, "config", "core.hooksPath", "tools/hooks");
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, "tools/hooks/pre-commit", "evil");

    const { changedExecutablePaths, gitChanges } = await watch.toChanges();
    expect(changedExecutablePaths).toEqual(["tools/hooks/pre-commit"]);
    expect(gitChanges).toHaveLength(1);
  });

  it("makes a worktree, and nothing is said of it", async () => {
    const workspace = createRepository();
    commit(workspace);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    git(workspace, "worktree", "add", "--quiet", join(createTemporaryFolder(), "tree"));

    const { changedExecutablePaths, gitChanges } = await watch.toChanges();
    expect(changedExecutablePaths).toContain(".git/worktrees/tree/commondir");
    expect(gitChanges).toEqual([]);
  });
});

describe("a git folder outside the workspace is not looked at", () => {
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

    expect(JSON.stringify(await watch.toChanges())).not.toContain("private");
  });
});

describe("files with rights of their own are reported first when a turn", () => {
  it.each<[string, string, Change]>([
    ["makes one setuid", "src/a.ts", (root) => chmodSync(join(root, "src/a.ts"), 0o4755)],
    ["makes one setgid", "src/a.ts", (root) => chmodSync(join(root, "src/a.ts"), 0o2755)],
    [
      "hides one where nothing is run",
      ".git/objects/x",
      (root) => (write(root, ".git/objects/x", "x"), chmodSync(join(root, ".git/objects/x"), 0o4755)),
    ],
  ])("%s", async (_what, path, change) => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".envrc", "evil");
    change(workspace);

    const { changedExecutablePaths, warnings } = await watch.toChanges();
    expect(changedExecutablePaths).toEqual([path, ".envrc"]);
    expect(warnings).toEqual([expect.stringMatching(`^"${path}" is a set[ug]id file: whoever runs it has the rights of`)]);
  });

  it("not if they were so before", async () => {
    const workspace = createRepository();
    chmodSync(join(workspace, "src/a.ts"), 0o4755);
    await sleep(30);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    expect(await watch.toChanges()).toMatchObject({ changedExecutablePaths: [], warnings: [] });
  });
});

describe("links are reported when a turn", () => {
  it.each<[string, string, string]>([
    ["makes one to an absolute path", "link", "/etc"],
    ["makes one out of a folder", "src/link", "../../x"],
    ["makes one that leads out by way of others", "link", "src/up/../../x"],
    ["makes one by way of one that leads out", "link", "outside/x"],
  ])("%s", async (_what, path, target) => {
    const workspace = createWithLinks();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    symlinkSync(target, join(workspace, path));

    expect((await watch.toChanges()).warnings).toEqual([
      `New links lead out of the workspace: "${path}" to "${target}".`,
    ]);
  });

  it.each(["a.ts", "../src/a.ts", "../src/up/a", ".", "nowhere/../a.ts", "a".repeat(300)])(
    "not if they stay inside: %s",
    async (target) => {
      const workspace = createWithLinks();
      const watch = watchExecutablePaths(workspace);
      await watch.ready;

      symlinkSync(target, join(workspace, "src/link"));
      symlinkSync(join(workspace, "src"), join(workspace, "absolute"));

      expect((await watch.toChanges()).warnings).toEqual([]);
    },
  );

  it("are named up to ten, and counted", async () => {
    const workspace = createWithLinks();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    for (let index = 0; index < 250; index++) symlinkSync("/etc", join(workspace, `${index}`));

    expect((await watch.toChanges()).warnings).toEqual([expect.stringMatching(/" to "\/etc" and 240 more\.$/)]);
  });

  /** With links from before: one that leads out, and one that leads to its folder's parent, which is inside. */
  function createWithLinks(): string {
    const workspace = createRepository();
    symlinkSync("/etc", join(workspace, "outside"));
    symlinkSync("..", join(workspace, "src/up"));
    return workspace;
  }
});

describe("the paths that are reported", () => {
  it("are none of what a folder was exchanged for", async () => {
    const [workspace, home] = [createRepository(), createTemporaryFolder()];
    write(home, ".envrc", "private");
    write(home, ".vscode/private", "private");
    mkdirSync(join(workspace, "src/folder"));
    const watch = watchExecutablePaths(workspace, exchanging(workspace, home));
    await watch.ready;

    const { changedExecutablePaths, warnings } = await watch.toChanges();

    expect(changedExecutablePaths).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('of "src/folder", it cannot be read (ENOTDIR)')]);
  });

  it("would be some of it if folders were opened by their path", async () => {
    const [workspace, home] = [createRepository(), createTemporaryFolder()];
    write(home, ".envrc", "private");
    mkdirSync(join(workspace, "src/folder"));
    const exchange = exchanging(workspace, home, (path) => opendirHeld(path));
    const watch = watchExecutablePaths(workspace, exchange);
    await watch.ready;

    expect((await watch.toChanges()).changedExecutablePaths).toEqual(["src/folder/.envrc"]);
  });

  /** Opens folders, and one of them, after the turn, only once a link has taken its place. */
  function exchanging(workspace: string, home: string, follow?: (path: string) => Promise<HeldFolder>): OpenFolder {
    let times = 0;
    return async (parent, name) => {
      if (name.toString() !== "folder" || ++times < 2) return holdChild(parent, name);
      const path = join(workspace, "src/folder");
      rmSync(path, { recursive: true });
      symlinkSync(home, path);
      return follow === undefined ? holdChild(parent, name) : follow(path);
    };
  }

  async function opendirHeld(path: string): Promise<HeldFolder> {
    return { handle: await open(path), at: Buffer.from(path) };
  }
});

describe("a workspace is not looked at as a whole, and the turn is told so, where", () => {
  it("folders lie too deep", async () => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    mkdirSync(join(workspace, "d/".repeat(70)), { recursive: true });

    expect((await watch.toChanges()).warnings).toEqual([expect.stringContaining("it lies more than 64 folders deep")]);
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
    ["writes a file again as it was", (root) => write(root, ".vscode/tasks.json", "[]")],
    ["touches what a forge does not run", (root) => write(root, ".github/README.md", "x")],
  ])("%s", async (_what, change) => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    change(workspace);

    expect(await watch.toChanges()).toEqual({ changedExecutablePaths: [], gitChanges: [], warnings: [] });
  });
});

describe("a turn that changes very many such files", () => {
  it("is told of the first, and of their number", async () => {
    const workspace = createTemporaryFolder();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;
    for (let number = 0; number < 1001; number++) write(workspace, `.husky/${number}`, "x");

    const { changedExecutablePaths, warnings } = await watch.toChanges();

    expect(changedExecutablePaths).toHaveLength(200);
    expect(warnings).toEqual([expect.stringContaining("changed 1,001 files")]);
  });
});

const TODO = ".git/rebase-merge/git-rebase-todo";

/** In a folder whose name is one byte that no text has. */
function writeOdd(root: string, name: string): void {
  const folder = Buffer.concat([Buffer.from(`${root}/odd`), Buffer.from([0xff])]);
  mkdirSync(folder);
  writeFileSync(Buffer.concat([folder, Buffer.from(`/${name}`)]), "x");
}

function createRepository(): string {
  const root = createTemporaryFolder();
  git(root, "init", "--quiet");
  write(root, "src/a.ts", "a");
  write(root, "package.json", toPackage({ test: "vitest" }));
  write(root, ".git/hooks/old", "old");
  write(root, ".vscode/tasks.json", "[]");
  symlinkSync("../src", join(root, ".vscode/link"));
  return root;
}

function toPackage(scripts: Readonly<Record<string, string>>, version = "1"): string {
  return JSON.stringify({ version, scripts });
}

function write(root: string, path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function relink(root: string, path: string, target: string): void {
  unlinkSync(join(root, path));
  symlinkSync(target, join(root, path));
}

function replaceGit(root: string): void {
  renameSync(join(root, ".git"), join(root, "src/other"));
  write(root, ".git", "gitdir: src/other");
  rmSync(join(root, "src/other"), { recursive: true });
}

function commit(root: string): void {
  git(root, "add", "src");
  git(root, "-c", "user.name=me", "-c", "user.email=me@x.example", "commit", "--quiet", "--message", "x");
}

function git(root: string, ...argv: readonly string[]): void {
  execFileSync("git", [...argv], { cwd: root, stdio: "pipe" });
}
