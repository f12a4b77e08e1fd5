import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readEntries } from "../../src/selection/read-entries.ts";
import { addFiles, createTree } from "../helpers/create-tree.ts";
import { select } from "../helpers/select.ts";

it("git says of a copy what it says of its directory, of a repository and of a worktree of it, and can commit there", async () => {
  const main = createTree({ "a.txt": "a\n", "b.txt": "b\n", ".gitignore": "dist/\n" });
  run(main, "init", "-q", "-b", "main");
  run(main, "add", ".");
  run(main, "commit", "-qm", "first");
  const tree = join(createTree({}), "tree");
  run(main, "worktree", "add", "-q", "-b", "topic", tree);
  const common = join(main, ".git");
  for (const directory of [main, tree]) {
    appendFileSync(join(directory, "a.txt"), directory);
    addFiles(directory, { "new.txt": "", "dist/built": "" });
    run(directory, "add", "new.txt");
  }

  const copies = [await copy(main, undefined), await copy(tree, { common, own: join(common, "worktrees", "tree") })];

  for (const [index, directory] of [main, tree].entries()) {
    const made = copies[index] ?? "";
    expect(run(made, "status", "--porcelain=v2", "--branch")).toBe(
      run(directory, "status", "--porcelain=v2", "--branch"),
    );
    expect(run(made, "log", "--all", "--format=%H %s")).toBe(run(directory, "log", "--all", "--format=%H %s"));
    run(made, "commit", "-qam", "in the copy");
    expect(run(made, "fsck", "--strict", "--no-dangling")).toBe("");
    expect(run(directory, "log", "--format=%s")).toBe("first\n");
  }
});

function run(cwd: string, ...args: readonly string[]): string {
  const env = {
    PATH: process.env["PATH"],
    HOME: "/nonexistent",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@b",
  };
  const quiet = ["-c", "core.fsmonitor=false", "-c", "core.fsync=none"];
  return execFileSync("git", [...quiet, ...args], { cwd, env, encoding: "utf8" });
}

/** Writes a copy as the engine does. */
async function copy(
  directory: string,
  git: { readonly common: string; readonly own: string } | undefined,
): Promise<string> {
  const to = createTree({});
  const selection = await select(directory, { git });
  for await (const { content, entry, mtimeMs = 0 } of readEntries(selection, { onEntry: () => undefined })) {
    const path = join(to, entry.path);
    if (entry.kind === "folder") mkdirSync(path);
    else if (entry.kind === "link") symlinkSync(entry.target, path);
    else writeFileSync(path, content as Buffer, { mode: entry.mode });
    if (entry.kind === "file") utimesSync(path, new Date(), new Date(Math.floor(mtimeMs / 1000) * 1000));
  }
  return to;
}
