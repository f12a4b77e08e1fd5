import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LARGEST_COPY } from "../../src/selection/copy-bounds.ts";
import { createTree } from "../helpers/create-tree.ts";
import { listLeftOut, readAll, select } from "../helpers/select.ts";

describe("the git of a copy", () => {
  const GIT = {
    "a.txt": "",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config":
      '[core]\n\tfsmonitor = evil\n\thooksPath = /x\n[remote "origin"]\n\turl = https://me:token@example.com/a.git?key=1\n[filter "x"]\n\tclean = evil\n',
    ".git/hooks/pre-commit": "evil",
    ".git/logs/HEAD": "clone: from https://me:token@example.com",
    ".git/objects/ab/cdef": "object",
    ".git/refs/heads/main": "",
    ".git/worktrees/other/gitdir": "",
    ".git/info/exclude": "",
    ".git/FETCH_HEAD": "token",
  };

  it("has objects and what names them, and a configuration without programs and logins", async () => {
    const selection = await select(createTree(GIT));

    const inGit = selection.entries.filter(({ entry }) => entry.kind === "file" && entry.path.startsWith(".git/"));
    const config = inGit.find(({ entry }) => entry.path === ".git/config")?.content?.toString();
    expect(inGit.map(({ entry }) => entry.path.slice(5))).toEqual([
      "HEAD",
      "config",
      "info/exclude",
      "objects/ab/cdef",
      "refs/heads/main",
    ]);
    expect(config).toContain('url = "https://example.com/a.git"');
    expect(config).toContain("checkStat = minimal");
    expect(config).not.toMatch(/evil|token|hooksPath/);
    expect(selection.leftOut.list().notes.join()).toContain("no hooks");
  });

  it.each([
    ["it takes objects from another repository", { ".git/objects/info/alternates": "/other\n" }, {}],
    ["it is too large", {}, { gitBytes: 5 }],
    ["it has too many entries", {}, { entries: 5 }],
    ["its references are in a table", { ".git/config": "[extensions]\n\trefStorage = reftable\n" }, {}],
    ["it lacks objects", { ".git/config": '[extensions]\n\tpartialClone = "origin"\n' }, {}],
  ])("is left out if %s", async (_, files, bounds) => {
    const selection = await select(createTree({ ...GIT, ...files }), { bounds: { ...LARGEST_COPY, ...bounds } });

    expect(selection.entries.map(({ entry }) => entry.path)).toEqual(["a.txt"]);
    expect(selection.leftOut.list().notes.join()).toContain("The copy has no .git");
  });
});

describe("the git of a worktree's copy", () => {
  it("is made of the common folder, and of HEAD and index of the worktree's own", async () => {
    const main = createTree({
      ".git/HEAD": "ref: refs/heads/main\n",
      ".git/index": "of main",
      ".git/config": "",
      ".git/objects/ab/cdef": "object",
      ".git/refs/heads/tree": "",
      ".git/hooks/pre-commit": "evil",
      ".git/worktrees/tree/HEAD": "ref: refs/heads/tree\n",
      ".git/worktrees/tree/index": "of tree",
      ".git/worktrees/tree/commondir": "../..\n",
    });
    const common = join(main, ".git");
    const own = join(common, "worktrees/tree");
    const tree = createTree({ "a.txt": "", ".git": `gitdir: ${own}\n` });

    const selection = await select(tree, { git: { common, own } });
    const { contents, entries } = await readAll(selection);

    expect(entries.map(({ path }) => path).filter((path) => /^\.git\/[A-Zcioh]/.test(path))).toEqual([
      ".git/HEAD",
      ".git/config",
      ".git/index",
      ".git/objects",
      ".git/objects/ab",
      ".git/objects/ab/cdef",
    ]);
    expect(contents).toEqual(expect.arrayContaining(["ref: refs/heads/tree\n", "of tree", "object"]));
    expect(contents.join()).not.toMatch(/evil|of main|gitdir/);
    expect(listLeftOut(selection)).toEqual({});
  });
});
