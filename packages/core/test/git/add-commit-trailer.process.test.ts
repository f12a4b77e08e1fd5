import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";
import { addCommitTrailer } from "../../src/git/add-commit-trailer.ts";

const WHO = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
const NAMED = "Budgie-Agent: team/a b\nBudgie-Run: run-1\n";

let root: string;
let repository: string;
beforeEach(() => {
  root = createTemporaryFolder();
  repository = join(root, "project");
  execFileSync("git", ["init", "-qb", "trunk", repository], { env: toEnv() });
});

describe("a commit of an agent names agent and run, once", () => {
  it.each([
    ["by commit -m", "git commit -qm one"],
    ["by commit -F", "printf 'one\\n\\ntext\\n---\\nmore\\n' >../m; git commit -qF ../m"],
    ["by an editor", "GIT_EDITOR='printf one >' git commit -q"],
    ["without the checks of hooks", "git commit -qnm one"],
    ["by an amendment", "git commit -qm one; git commit -q --amend --no-edit"],
    ["by an amendment of the message", "git commit -qm one; git commit -q --amend -m two"],
    ["in a worktree", "git commit -qm one; git worktree add -q ../tree; cd ../tree; echo 2 >a; git commit -qam two"],
    [
      "by a merge",
      "git commit -qm one; git switch -qc other; git commit -qm two --allow-empty; git merge -q - --no-ff -m m",
    ],
    [
      "by a cherry-pick",
      "git commit -qm one; echo 2 >a; git commit -qam two; git reset -q --hard @~; git cherry-pick @{1}",
    ],
    ["by a message that looks like a comment", "git commit -qm '#42: mend'"],
    [
      "by an editor that shows the diff",
      "GIT_EDITOR='f() { printf one | cat - $1 >../m; cp ../m $1; }; f' git commit -qv",
    ],
    [
      "by a patch",
      "env -u GIT_CONFIG_COUNT git commit -qm one; git format-patch -q -o .. --root; git reset -q --hard; git checkout -q --orphan x; git rm -qrf .; git am -q ../0001*",
    ],
    [
      "in a repository with trailers of its own",
      "git config trailer.x.command 'echo y'; git config core.commentChar ';'; GIT_EDITOR='printf one >' git commit -q",
    ],
    ["by a rebase", "git commit -qm one; echo 2 >a; git commit -qam two; git rebase -qf --root"],
  ])("%s", (_what, script) => {
    runAgent(`set -e; echo 1 >a; git add a; ${script}; git log -1 --format='%(trailers)' >${root}/said`);

    expect(readFileSync(join(root, "said"), "utf8").trimEnd()).toBe(NAMED.trimEnd());
  });
});

it("an amendment by another run names both, and an empty message commits nothing", () => {
  runAgent("git commit -qm one --allow-empty");
  runAgent("git commit -q --amend --no-edit --allow-empty", { runId: "run-2" });
  const { status } = runAgent("git commit -qm '' --allow-empty");
  const shown = runAgent("echo 1 >a; git add a; GIT_EDITOR=true git commit -qv");

  expect(runAgent("git log --format='%(trailers)'").stdout.trimEnd()).toBe(`${NAMED}Budgie-Run: run-2`);
  expect([status, shown.status]).toEqual([1, 1]);
});

describe("the repository's own hooks run as without it", () => {
  it.each([
    ["of its folder", ".git/hooks", ""],
    ["of a folder that its configuration names, as husky does", ".husky/_", "git config core.hooksPath .husky/_"],
  ])("%s", (_what, folder, configure) => {
    runAgent(configure);
    hook(`${folder}/pre-commit`, "echo pre >>../ran");
    hook(`${folder}/commit-msg`, '! grep -q "^wrong" "$1"');
    hook(`${folder}/prepare-commit-msg`, 'echo "$2" >>../ran; sed -i s/one/two/ "$1"');
    hook(`${folder}/post-commit`, `echo "$0 $#" >>../ran; git rev-parse --git-path hooks >>../ran`);

    const right = runAgent("git commit -qm one --allow-empty");
    const wrong = runAgent("git commit -qm wrong --allow-empty");
    const { stdout } = runAgent("git log --format=%B");

    expect([right.status, right.stderr, wrong.status]).toEqual([0, "", 1]);
    expect(stdout.trimEnd()).toBe(`two\n\n${NAMED}`.trimEnd());
    const ran = readFileSync(join(root, "ran"), "utf8").split("\n");
    expect(ran.slice(0, 4)).toEqual(["pre", "message", `${folder}/post-commit 0`, folder]);
  });

  it("also those that read what git sends them, and none that git would not run", () => {
    hook(".git/hooks/post-rewrite", "cat >../ran");
    hook(".git/hooks/pre-commit", "exit 1", 0o644);
    runAgent("git commit -qm one --allow-empty; git commit -q --amend -m two --allow-empty");

    expect(readFileSync(join(root, "ran"), "utf8")).toMatch(/^[0-9a-f]{40} [0-9a-f]{40}\n$/);
  });
});

it("settings of git in an agent's variables stay in force, and nothing is written into the repository", () => {
  const before = readFileSync(join(repository, ".git/config"), "utf8");
  const env = {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "alias.ci",
    GIT_CONFIG_VALUE_0: "commit -qm one --allow-empty",
  };
  runAgent("git ci", { env });

  expect(runAgent("git log --format='%(trailers)'").stdout.trimEnd()).toBe(NAMED.trimEnd());
  expect(readFileSync(join(repository, ".git/config"), "utf8")).toBe(before);
  expect(existsSync(join(repository, ".git/hooks/commit-msg"))).toBe(false);
});

/** Runs a script with the variables of an agent. */
function runAgent(script: string, { env = {}, runId = "run-1" } = {}) {
  const added = addCommitTrailer(join(root, "state"), { agent: "team/a b", runId, env });
  return spawnSync("sh", ["-c", script], { cwd: repository, env: { ...toEnv(), ...added.env }, encoding: "utf8" });
}

/** Returns the variables of git without the user's own. */
function toEnv(): Record<string, string | undefined> {
  return { PATH: process.env["PATH"], HOME: root, GIT_CONFIG_NOSYSTEM: "1", ...WHO };
}

function hook(path: string, script: string, mode = 0o755): void {
  const file = join(repository, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, mode);
}
