import { chmodSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LARGEST_COPY } from "../../src/selection/copy-bounds.ts";
import { addFiles, createTree } from "../helpers/create-tree.ts";
import { buildIndex } from "../helpers/build-index.ts";
import { listLeftOut, listPaths, readAll, select } from "../helpers/select.ts";

const LONG = "x".repeat(600);
const PROJECT = {
  ".gitignore": "dist/\nnode_modules/\n*.log\n",
  "src/a.ts": "a",
  "dist/a.js": "a",
  "node_modules/one/dist/index.js": "",
  "node_modules/.env": "SECRET",
  "debug.log": "",
  ".env": "SECRET",
  ".env.example": "",
  "keys/server.pem": "SECRET",
  link: "-> src/a.ts",
  ".git/HEAD": "ref: refs/heads/main\n",
};

describe("a copy", () => {
  it("has what git does not ignore, and dependencies, without files named like secrets", async () => {
    const selection = await select(createTree(PROJECT));

    expect(listPaths(selection)).toEqual([
      ".env.example",
      ".gitignore",
      "keys/",
      "link",
      "node_modules/",
      "node_modules/one/",
      "node_modules/one/dist/",
      "node_modules/one/dist/index.js",
      "src/",
      "src/a.ts",
    ]);
    expect(listLeftOut(selection)).toEqual({
      ignored: ["debug.log", "dist/"],
      secret: [".env", "keys/server.pem", "node_modules/.env"],
    });
  });

  it("has tracked files even if they are ignored or named like secrets", async () => {
    const root = createTree(PROJECT);
    writeFileSync(join(root, ".git/index"), buildIndex(["dist/a.js", "keys/server.pem"]));

    const paths = listPaths(await select(root));

    expect(paths).toEqual(expect.arrayContaining(["dist/", "dist/a.js", "keys/server.pem"]));
    expect(paths).not.toContain("debug.log");
  });

  it("has what the directory's .worktreeinclude names only if the user wishes so, within bounds and through no link", async () => {
    const wanted = "/.env\n!/debug.log\n";
    const wishes = { worktreeInclude: true, include: ["*.log"], exclude: ["dist"] };
    const root = createTree({ ...PROJECT, ".worktreeinclude": wanted });

    expect(listPaths(await select(root))).not.toContain(".env");
    expect(listPaths(await select(root, wishes))).toEqual(expect.arrayContaining([".env", "debug.log"]));

    writeFileSync(join(root, ".worktreeinclude"), "/.env\n*\n".repeat(5000));
    const large = await select(root, { worktreeInclude: true });
    expect(listPaths(large)).not.toContain(".env");
    expect(large.leftOut.list().notes).toContainEqual(expect.stringContaining(".worktreeinclude does not count"));

    renameSync(join(root, ".worktreeinclude"), join(root, "other"));
    symlinkSync("other", join(root, ".worktreeinclude"));
    writeFileSync(join(root, "other"), wanted);
    expect(listPaths(await select(root, { worktreeInclude: true }))).not.toContain(".env");
  });

  it("has tracked files alone, or all, if the user wishes so", async () => {
    const root = createTree(PROJECT);
    writeFileSync(join(root, ".git/index"), buildIndex(["src/a.ts"]));

    const tracked = await select(root, { files: "tracked" });

    expect(listPaths(tracked)).toEqual(["src/", "src/a.ts"]);
    expect(listLeftOut(tracked)).toMatchObject({
      untracked: expect.arrayContaining(["dist/", "node_modules/", "link"]),
    });
    expect(listPaths(await select(root, { files: "all" }))).toEqual(
      expect.arrayContaining(["debug.log", "dist/a.js", "node_modules/one/dist/index.js"]),
    );
  });

  it("has what the user includes, and lacks what the user excludes even if it is tracked", async () => {
    const root = createTree(PROJECT);
    writeFileSync(join(root, ".git/index"), buildIndex(["src/a.ts"]));

    const selection = await select(root, { include: ["/dist/a.js", ".env"], exclude: ["/src"] });

    expect(listPaths(selection)).toEqual(expect.arrayContaining(["dist/", "dist/a.js", ".env"]));
    expect(listPaths(selection).filter((path) => path.startsWith("src"))).toEqual([]);
    expect(listLeftOut(selection)).toMatchObject({ excluded: ["src/"] });
  });

  it("takes the rules of the repository that the directory is a part of", async () => {
    const root = createTree({ ".gitignore": "/sub/out/\n", ".git/HEAD": "", "sub/out/a": "", "sub/in/b": "" });

    expect(listPaths(await select(join(root, "sub")))).toEqual(["in/", "in/b"]);
  });

  it("has nothing behind a symlink, and names what is neither file nor folder by its reason", async () => {
    const outside = createTree({ "secret.txt": "" });
    const root = createTree({ "a.txt": "", ".git/HEAD": "" });
    symlinkSync(outside, join(root, "out"));
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x61])]), "");

    const selection = await select(root);

    expect(listPaths(selection)).toEqual(["a.txt", "out"]);
    expect(listLeftOut(selection)).toEqual({ name: ["\uFFFDa"] });
  });

  it("lacks the folders of applies, also of those in a folder of the directory", async () => {
    const selection = await select(createTree({ "a.txt": "", ".budgie-apply-1/o1": "", "b/.budgie-apply-1/o1": "" }));

    expect(listPaths(selection)).toEqual(["a.txt", "b/"]);
    expect(listLeftOut(selection)).toEqual({ stage: [".budgie-apply-1", "b/.budgie-apply-1"] });
  });

  it("leaves files out whose tracking is unknown, and says so", async () => {
    const root = createTree({ ...PROJECT, ".git/index": "DIRC\0\0\0\x09broken-broken-broken-broken" });

    const selection = await select(root);

    expect(selection.leftOut.list().notes.join()).toContain("git's index could not be read");
    expect(listPaths(selection)).not.toContain(".env");
  });

  it("is refused with the largest folders named, if it would be too large", async () => {
    const root = createTree({ "big/one/a": LONG, "big/one/b": LONG, "small/c": "1", ".git/HEAD": "" });

    await expect(select(root, { bounds: { ...LARGEST_COPY, bytes: 1000 } })).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringMatching(/The largest folders are "big\/one"/),
    });
    await expect(select(root, { bounds: { ...LARGEST_COPY, entries: 3 } })).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
    });
  });

  it("is refused if a repository's patterns take too long", async () => {
    const root = createTree({ ".gitignore": "*a*a*a*a*a*a*a*a*b\n".repeat(50), ".git/HEAD": "" });
    for (let index = 0; index < 40; index++) writeFileSync(join(root, `${index}${"a".repeat(240)}`), "");

    await expect(select(root, { bounds: { ...LARGEST_COPY, matchSteps: 100_000 } })).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining(".gitignore"),
    });
  });
});

describe("the entries that are read", () => {
  it("are those of the folder that was selected, even if a symlink takes its place", async () => {
    const outside = createTree({ "a.txt": "OUTSIDE" });
    const root = createTree({ "sub/a.txt": "inside", ".git/HEAD": "" });
    const selection = await select(root);
    renameSync(join(root, "sub"), join(root, "moved"));
    symlinkSync(outside, join(root, "sub"));

    const { contents } = await readAll(selection);

    expect(contents.join()).not.toContain("OUTSIDE");
    expect(listLeftOut(selection)).toEqual({ changed: ["sub/a.txt"] });
  });

  it("have the digest, the size and the mode that they have when they are read", async () => {
    const root = createTree({ "a.txt": "old", ".git/HEAD": "" });
    const selection = await select(root);
    addFiles(root, { "a.txt": "a newer text" });
    chmodSync(join(root, "a.txt"), 0o755);

    const { contents, entries } = await readAll(selection);

    expect(contents).toContain("a newer text");
    expect(entries.find(({ path }) => path === "a.txt")).toMatchObject({
      size: 12,
      mode: 0o755,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("are within the bounds of a copy, even if a file grew since it was selected", async () => {
    const root = createTree({ "a.txt": "", ".git/HEAD": "" });
    const selection = await select(root);
    truncateSync(join(root, "a.txt"), LARGEST_COPY.bytes + 1);

    const { entries } = await readAll(selection);

    expect(entries.map(({ path }) => path)).not.toContain("a.txt");
    expect(listLeftOut(selection)).toEqual({ changed: ["a.txt"] });
  });
});
