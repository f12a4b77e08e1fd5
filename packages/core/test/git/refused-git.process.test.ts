import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GuardedPath } from "@budgie/core/policy";
import { createRepository, git, write } from "../changes/executable-repository.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";
import { ANY, createSubmodule, createWorktree, find } from "./git-scene.ts";

describe("a sandbox gets no folder for a .git", () => {
  type Place = ReturnType<typeof createWorktree>;
  const link = (place: Place, name: string): void => {
    renameSync(join(place.common, name), join(place.common, "moved"));
    symlinkSync(join(place.common, "moved"), join(place.common, name));
  };
  const point = (place: Place, target: string): void => writeFileSync(join(place.tree, ".git"), `gitdir: ${target}\n`);

  it.each<[string, (place: Place) => void, string | RegExp]>([
    [
      "that names a worktree of another directory",
      (place) => {
        git(place.main, "worktree", "add", "--quiet", `${place.tree}-2`);
        point(place, join(place.common, "worktrees/tree-2"));
      },
      "which does not name this directory back",
    ],
    [
      "that names another repository",
      (place) => point(place, join(createRepository(), ".git")),
      "which does not name this directory back",
    ],
    ["that names /", (place) => point(place, "/"), "which does not name this directory back"],
    ["that names a missing folder", (place) => point(place, "/nowhere/x"), "which is missing, or reached by a symlink"],
    ["that names a file", (place) => point(place, "/etc/passwd"), "which does not name this directory back"],
    [
      "that names one by a symlink",
      (place) => {
        symlinkSync(place.main, `${place.tree}-link`);
        point(place, `${place.tree}-link/.git/worktrees/tree`);
      },
      "which is missing, or reached by a symlink",
    ],
    [
      "that names one of the workspace by an absolute path",
      (place) => {
        git(place.tree, "init", "--quiet", "inside");
        point(place, join(place.tree, "inside/.git"));
      },
      "which does not name this directory back",
    ],
    [
      "that is a symlink",
      (place) => {
        rmSync(join(place.tree, ".git"));
        symlinkSync(place.common, join(place.tree, ".git"));
      },
      "is neither a folder nor a file that git writes",
    ],
    [
      "that is a pipe",
      (place) => {
        rmSync(join(place.tree, ".git"));
        execFileSync("mkfifo", [join(place.tree, ".git")]);
      },
      "is neither a folder nor a file that git writes",
    ],
    [
      "of 10 MB",
      (place) => writeFileSync(join(place.tree, ".git"), `gitdir: ${place.own}\n`.padEnd(10_000_000, "\n")),
      "is neither a folder nor a file that git writes",
    ],
    [
      "whose folder's gitdir is a pipe",
      (place) => {
        rmSync(join(place.own, "gitdir"));
        execFileSync("mkfifo", [join(place.own, "gitdir")]);
      },
      "which does not name this directory back",
    ],
    [
      "whose folder's gitdir is a symlink",
      (place) => {
        renameSync(join(place.own, "gitdir"), join(place.own, "back"));
        symlinkSync("back", join(place.own, "gitdir"));
      },
      "which does not name this directory back",
    ],
    [
      "whose folder's commondir leads elsewhere",
      (place) => writeFileSync(join(place.own, "commondir"), "/tmp\n"),
      'whose "commondir" names another folder',
    ],
    [
      "whose folder has no commondir",
      (place) => rmSync(join(place.own, "commondir")),
      'whose "commondir" names another folder',
    ],
    ["whose objects are elsewhere", (place) => link(place, "objects"), /objects" is a symlink/],
    ["whose refs are elsewhere", (place) => link(place, "refs"), /refs" is a symlink/],
    [
      "whose repository takes objects from elsewhere",
      (place) => write(place.common, "objects/info/alternates", "/tmp/objects\n"),
      "objects/info/alternates",
    ],
  ])("%s", async (_what, change, why) => {
    const place = createWorktree();
    change(place);

    const { folders, notice } = await find(place.tree);

    expect(folders).toBeUndefined();
    expect(notice).toMatch(/^git does not work in the sandbox: .*\.$/);
    expect(notice).toMatch(why);
  });

  it("whose folder is an imitation in another project", async () => {
    const [project, tree] = [createTemporaryFolder(), createTemporaryFolder()];
    for (const file of ["HEAD", "config", "objects/info/x", "refs/x", "logs/refs/x"]) write(project, file, "x");
    write(project, "worktrees/tree/gitdir", `${tree}/.git\n`);
    write(project, "worktrees/tree/commondir", "../..\n");
    write(tree, ".git", `gitdir: ${project}/worktrees/tree\n`);

    expect((await find(tree)).notice).toContain("where git does not put it");
  });

  it("whose folder is an imitation of a submodule's", async () => {
    const [project, tree] = [createTemporaryFolder(), createTemporaryFolder()];
    for (const file of ["HEAD", "objects/info/x", "refs/x"]) write(project, file, "x");
    write(project, "config", `[core]\n\tworktree = ${tree}\n`);
    write(tree, ".git", `gitdir: ${project}\n`);

    expect((await find(tree)).notice).toContain("where git does not put it");
  });

  it.each<[string, (home: string) => GuardedPath, string]>([
    ["is a home", (path) => ({ path, what: "your home directory", mayHoldWorkspaces: true }), "is your home directory"],
    ["holds keys", (home) => ({ path: join(home, ".ssh"), what: "your SSH keys" }), "holds your SSH keys"],
    ["lies among credentials", (path) => ({ path, what: "your SSH keys" }), "is your SSH keys"],
    [
      "holds settings of budgie",
      (home) => ({ path: join(home, ".git/budgie.json"), what: "settings", settings: "file" }),
      "holds settings",
    ],
  ])("whose repository %s", async (_what, toGuarded, why) => {
    const { main, tree } = createWorktree();

    const { folders, notice } = await find(tree, { rules: { ...ANY, guarded: [toGuarded(main)] } });

    expect(folders).toBeUndefined();
    expect(notice).toContain(`and "${main}" ${why}`);
  });

  it("whose repository lies in no allowed root", async () => {
    const { main, tree } = createWorktree();
    const allowedRoots = [{ named: tree, path: tree }];

    expect((await find(tree, { rules: { ...ANY, allowedRoots } })).notice).toContain(
      `"${main}" lies in none of the allowed roots`,
    );
    const both = [...allowedRoots, { named: main, path: main }];
    expect((await find(tree, { rules: { ...ANY, allowedRoots: both } })).folders).toBeDefined();
  });

  it("that would hide the workspace", async () => {
    const { main, tree } = createWorktree();

    expect((await find(tree, { workspace: main })).notice).toContain("a path that the sandbox has for something else");
  });

  it("of which a repository's own configuration is not all read", async () => {
    const { module, own } = createSubmodule();
    writeFileSync(join(own, "config"), `${readFileSync(join(own, "config"), "utf8")}\n#${"x".repeat(70_000)}\n`);

    const { folders, notice } = await find(module);

    expect(folders).toBeUndefined();
    expect(notice).toContain("configuration is too large");
  });

  it("and a name of an agent's is quoted, and bounded", async () => {
    const place = createWorktree();
    point(place, `/nowhere/\u001b[31m"x`);
    expect((await find(place.tree)).notice).toContain(String.raw`/nowhere/\u001b[31m\"x`);

    point(place, `/${"x".repeat(5000)}`);
    expect((await find(place.tree)).notice?.length).toBeLessThan(500);
  });
});
