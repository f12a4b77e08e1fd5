import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildGitSetup } from "../../src/init/build-git-setup.ts";

let root: string;
let around: string;
let own: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "budgie-git-setup-"));
  [around, own] = [join(root, "shown"), join(root, "home/own.git")];
  for (const folder of ["home", `user/${FOLDER}`, "user/other", `shown/${FOLDER}`])
    mkdirSync(join(root, folder), { recursive: true });
  for (const file of ["README", "other/x", `${FOLDER}/page`]) writeFileSync(join(root, "user", file), file);
  writeFileSync(join(around, FOLDER, "page"), `${FOLDER}/page`);
  user("init", "-q", "-b", "main");
});
afterEach(() => rmSync(root, { recursive: true }));

const FOLDER = "a [b]*? \\c/web";

function run(cwd: string, args: readonly string[]): string {
  const identity = ["-c", "user.name=u", "-c", "user.email=u@b"];
  return execFileSync("git", ["-C", cwd, ...identity, ...args], { encoding: "utf8", env: ENV });
}
const ENV = { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null" };

function user(...args: readonly string[]): string {
  return run(join(root, "user"), args);
}

/** Runs git as an agent does in the subfolder. */
function agent(...args: readonly string[]): string {
  return run(join(around, FOLDER), args);
}

function commitAll(): void {
  user("add", "-A");
  user("commit", "-qm", "first");
}

/** Makes the session's own git, with paths of this machine in place of the sandbox's. */
function setUp(): void {
  const folders = { own: "", common: "", config: undefined, writable: [], guarded: [], around };
  const [program = "", ...argv] = buildGitSetup(folders, join(around, FOLDER)) ?? [];
  const [option, script, name, , , ...rest] = argv as [string, string, string, ...string[]];
  execFileSync(program, [option, script, name, own, join(root, "user/.git"), ...rest], { env: ENV, stdio: "ignore" });
  writeFileSync(join(around, ".git"), `gitdir: ${own}\n`);
}

it("is nothing for a workspace that is no subfolder", () => {
  expect(buildGitSetup(undefined, "/code/shop")).toBeUndefined();
});

it("begins at HEAD, with the user's references, and skips all files outside the subfolder, whatever its name", () => {
  commitAll();
  user("tag", "v1");
  user("pack-refs", "--all");
  user("checkout", "-q", "--detach");

  setUp();

  expect(agent("status", "--short")).toBe("");
  expect(
    agent("ls-files", "-v", "--full-name", ":/")
      .split("\n")
      .map((line) => line[0]),
  ).toEqual(["S", "H", "S", undefined]);
  expect(agent("for-each-ref", "--format=%(refname)")).toBe("refs/heads/main\nrefs/tags/v1\n");
  expect(readFileSync(join(own, "HEAD"), "utf8")).toBe(user("rev-parse", "HEAD"));
});

it("keeps the rest of the repository in a commit of everything, and in one of another branch", () => {
  commitAll();
  setUp();

  writeFileSync(join(around, FOLDER, "page"), "changed");
  agent("checkout", "-qb", "topic");
  agent("commit", "-qam", "theirs");
  agent("checkout", "-q", "main");

  expect(agent("diff", "--name-status", "-z", "main", "topic")).toBe(`M\0${FOLDER}/page\0`);
  expect(readFileSync(join(around, FOLDER, "page"), "utf8")).toBe(`${FOLDER}/page`);
  expect(user("for-each-ref", "--format=%(refname)")).toBe("refs/heads/main\n");
});

it("merges, rebases and stashes in the subfolder, while the rest stays as it was", () => {
  commitAll();
  setUp();
  const write = (name: string, text = name): void => writeFileSync(join(around, FOLDER, name), text);
  const commit = (name: string): void => {
    write(name);
    agent("add", "-A");
    agent("commit", "-qm", name);
  };

  agent("switch", "-qc", "one");
  commit("first");
  agent("switch", "-qc", "two", "main");
  commit("second");
  agent("rebase", "-q", "one");
  agent("switch", "-q", "main");
  commit("third");
  agent("merge", "-q", "-m", "merged", "two");
  write("page", "stashed");
  agent("stash");
  const clean = agent("status", "--short");
  agent("stash", "pop", "-q");

  expect(clean).toBe("");
  expect(readFileSync(join(around, FOLDER, "page"), "utf8")).toBe("stashed");
  expect(agent("ls-tree", "-rz", "--name-only", "--full-tree", "main").split("\0")).toEqual([
    "README",
    ...["first", "page", "second", "third"].map((name) => `${FOLDER}/${name}`),
    "other/x",
    "",
  ]);
});

it("leaves a git that is there as it is, and makes one in a repository without commits", () => {
  setUp();
  agent("add", "page");
  agent("commit", "-qm", "theirs");
  const [first] = agent("log", "--format=%H").split("\n");

  commitAll();
  setUp();

  expect(agent("log", "--format=%H")).toBe(`${first}\n`);
});
