import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GuardedPath } from "@budgie/core/policy";
import { commit, createRepository, git } from "../changes/executable-repository.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";
import { ANY, createSubmodule, createWorktree, find } from "./git-scene.ts";

describe("findGitAccess", () => {
  it("needs nothing for a plain repository, and for a directory outside any", async () => {
    expect(await find(createRepository())).toEqual({});
    expect(await find(createTemporaryFolder())).toEqual({});
  });

  it("finds the folder that a worktree shares, and what an agent may write in it", async () => {
    const { common, own, tree } = createWorktree();

    expect(await find(tree)).toEqual({
      folders: {
        own,
        common,
        config: undefined,
        writable: ["objects", "refs", "logs/refs", "worktrees/tree"],
        guarded: ["objects/info", "worktrees/tree/commondir", "worktrees/tree/gitdir"],
      },
    });
    expect((await find(tree, { mayWrite: false })).folders).toMatchObject({ own, common, writable: [], guarded: [] });
  });

  it("takes the relative paths that newer versions of git can write", async () => {
    const { own, tree } = createWorktree();
    writeFileSync(join(own, "gitdir"), `../../../../${tree.split("/").slice(-2).join("/")}/.git\n`);

    expect((await find(tree)).folders?.own).toBe(own);
  });

  it("leaves a submodule read-only until a commondir of its own can be guarded, and says how", async () => {
    const { module, own } = createSubmodule();

    const before = await find(module);
    const command = before.notice?.split("run once: ")[1] ?? "";
    execFileSync("sh", ["-c", command]);
    const { folders, notice } = await find(module);

    expect(before.folders).toMatchObject({ own, common: own, writable: [], guarded: [] });
    expect(command).toBe(`echo . >${own}/commondir`);
    expect(notice).toBeUndefined();
    expect(folders).toMatchObject({
      writable: [""],
      guarded: ["objects/info", "commondir", "config", "hooks", "info"],
      config: readFileSync(join(own, "config"), "utf8"),
    });
    // The user's own git works on with it.
    git(module, "status");
    git(join(module, "../.."), "submodule", "update");
  });

  it.each<[string, (place: ReturnType<typeof createWorktree>) => void, string]>([
    [
      "folder for branches' logs",
      ({ common }) => rmSync(join(common, "logs"), { recursive: true }),
      "mkdir -p COMMON/logs/refs",
    ],
    [
      "configuration of its own that git would read",
      ({ main }) => git(main, "config", "extensions.worktreeConfig", "true"),
      "echo '' >COMMON/worktrees/tree/config.worktree",
    ],
  ])("leaves a worktree without a %s read-only, and says what to run", async (_what, change, command) => {
    const place = createWorktree();
    change(place);

    const { folders, notice } = await find(place.tree);

    expect(folders?.writable).toEqual([]);
    expect(notice).toContain(`run once: ${command.replace("COMMON", place.common)}`);
  });

  it("names the repository of a subfolder, and what to do", async () => {
    const main = createRepository();

    const { folders, notice } = await find(join(main, "src"));

    expect(folders).toBeUndefined();
    expect(notice).toBe(
      `git does not work in the sandbox: "${main}/src" is a part of the repository "${main}", of which the sandbox gets nothing else. ` +
        `Call with "${main}", or with a worktree of it, which may be sparse, if the agent needs git.`,
    );
  });

  it("finds the folder of a sparse worktree, whose commit deletes nothing of the rest", async () => {
    const main = createRepository();
    git(main, "add", "-A");
    commit(main);
    const tree = join(createTemporaryFolder(), "tree");
    git(main, "worktree", "add", "--quiet", "--no-checkout", tree);
    git(tree, "sparse-checkout", "set", "src");
    git(tree, "checkout", "--quiet");
    const argv = ["ls-tree", "-r", "--name-only", "HEAD"];
    const list = () => execFileSync("git", argv, { cwd: tree, encoding: "utf8" }).trim().split("\n");
    const before = list();

    const { folders, notice } = await find(tree);
    writeFileSync(join(tree, "src/new"), "");
    git(tree, "add", "-A");
    commit(tree);

    expect(notice).toBeUndefined();
    expect(folders).toMatchObject({ guarded: expect.arrayContaining(["worktrees/tree/config.worktree"]) });
    expect(folders?.writable).toContain("worktrees/tree");
    expect(existsSync(join(tree, ".vscode"))).toBe(false);
    expect(new Set(list())).toEqual(new Set([...before, "src/new"]));
  });

  it("gives a subfolder a git of its own where the user's settings say so, and names the repository's folders", async () => {
    const { common, main, own, tree } = createWorktree();
    const hasSubfolderGit = true;

    const ofMain = await find(join(main, "src"), { hasSubfolderGit });
    const ofTree = await find(join(tree, ".vscode"), { hasSubfolderGit });

    const nothing = { config: undefined, writable: [], guarded: [] };
    expect(ofMain.folders).toEqual({ ...nothing, own: common, common, around: main });
    expect(ofMain.notice).toContain("its commits reach no branch of yours");
    expect(ofTree.folders).toEqual({ ...nothing, own, common, around: tree });
  });

  it.each<[string, (main: string) => void]>([
    [
      "takes objects from another",
      (main) => writeFileSync(join(main, ".git/objects/info/alternates"), "/srv/objects\n"),
    ],
    [
      'setting "extensions.partialclone" is "origin"',
      (main) => git(main, "config", "extensions.partialClone", "origin"),
    ],
    [
      'setting "extensions.objectformat" is "sha256"',
      (main) => git(main, "config", "extensions.objectFormat", "sha256"),
    ],
    ['".git" is none that git makes', (main) => writeFileSync(join(main, ".git/commondir"), "/srv\n")],
    ["configuration is too large", (main) => writeFileSync(join(main, ".git/config"), "#".repeat(64 * 1024))],
    ["which does not name this directory back", (main) => planted(main, `gitdir: ${main}/src\n`)],
    ["neither a folder nor a file that git writes", (main) => planted(main, "elsewhere")],
  ])("gives a subfolder none of a repository that %s", async (why, change) => {
    const main = createRepository();
    change(main);

    const { folders, notice } = await find(join(main, "src"), { hasSubfolderGit: true });

    expect(folders).toBeUndefined();
    expect(notice).toContain(why);
  });

  it("gives a subfolder none of a repository that a call could not name", async () => {
    const main = createRepository();
    const guarded: readonly GuardedPath[] = [{ path: main, what: "your home directory", mayHoldWorkspaces: true }];

    const found = await find(join(main, "src"), { hasSubfolderGit: true, rules: { ...ANY, guarded } });

    expect(found).toEqual({ notice: expect.stringContaining("which is your home directory") });
  });

  it("suggests no repository that a call could not name", async () => {
    const main = createRepository();
    const guarded: readonly GuardedPath[] = [{ path: main, what: "your home directory", mayHoldWorkspaces: true }];

    const { notice } = await find(join(main, "src"), { rules: { ...ANY, guarded } });

    expect(notice).toMatch(/gets nothing else\.$/);
  });
});

/** Puts a file in the place of a repository's git folder. */
function planted(main: string, text: string): void {
  rmSync(join(main, ".git"), { recursive: true });
  writeFileSync(join(main, ".git"), text);
}
