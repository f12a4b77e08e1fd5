import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDockerPlace } from "../helpers/docker-place.ts";
import { allowCommits, createGitPlace, onHost, openGitAgent, type GitAgent, type GitPlace } from "./git-place.ts";

const docker = createDockerPlace();
let agent: GitAgent;
let git: GitPlace;
let count = 0;
beforeAll(async () => void (agent = await openGitAgent(docker)));
beforeEach(() => void (git = createGitPlace(join(docker.root, `my repositories ${++count}`))));
afterAll(() => docker[Symbol.asyncDispose]());

const COMMIT = "set -e; git switch -q -c work; echo two >>a.txt; git add a.txt; git commit -qm 'by an agent'";

describe("an agent in a worktree", () => {
  it("commits on a branch, and the host's git sees the commit", async () => {
    const ran = await agent(git.worktree, `${COMMIT}; git status --short; git log --format=%s`);

    expect(ran).toMatchObject({ stdout: "by an agent\nlibrary\none\n", stderr: "", exit: { exitCode: 0 } });
    expect(onHost(git.main, "log", "-1", "--format=%an %s", "work")).toBe("Ada by an agent\n");
    // The worktree's HEAD and index went along, and no other's.
    expect(onHost(git.worktree, "status", "--short", "--branch")).toBe("## work\n");
    expect(onHost(git.main, "status", "--short", "--branch")).toBe("## trunk\n");
    expect(onHost(git.other, "status", "--short", "--branch")).toBe("## other\n");
  });

  it.each([
    "git commit -q --amend -m again",
    "git reset -q --hard HEAD~1",
    "git merge -q --no-edit later",
    "git rebase -q later",
    "git cherry-pick --allow-empty later",
    "git tag v1",
    "git switch -q --detach",
    "echo three >>a.txt; git stash -q; git stash pop -q",
    "git fsck",
  ])("can use %j", async (script) => {
    const later = "git switch -q -c later trunk; git commit -q --allow-empty -m later; git switch -q work";

    const { exit, stderr } = await agent(git.worktree, `${COMMIT}; ${later}; ${script}`);

    expect(exit.exitCode, stderr).toBe(0);
    onHost(git.worktree, "status");
  });

  it.each([
    [
      "deletes no branch, which git keeps in a file of the shared folder",
      "git branch -q spare; git branch -q -D spare",
    ],
    ["packs nothing", "git pack-refs --all"],
    ["sets nothing", "git config user.name Eve"],
    ["tracks no other branch", "git branch -q --track new trunk"],
    ["adds no worktree", "git worktree add -q /tmp/new"],
  ])("%s", async (_what, script) => {
    const { exit, stderr } = await agent(git.worktree, script);

    expect(exit.exitCode).not.toBe(0);
    expect(stderr).toContain("Read-only file system");
    expect(onHost(git.main, "branch", "--list", "other")).toContain("other");
  });

  it("does not lose the worktree by tidying up", async () => {
    const list = await agent(git.worktree, "git worktree list --porcelain");
    await agent(git.worktree, "git worktree prune; git gc --quiet --prune=now");

    // git would remove what it calls so.
    const own = list.stdout.split("\n\n").find((text) => text.startsWith(`worktree ${git.worktree}\n`));
    expect(own).toMatch(/^branch (?!.*prunable)/ms);
    expect(onHost(git.worktree, "status", "--short")).toBe("");
    expect(onHost(git.other, "status", "--short")).toBe("");
  });

  it("that may only read looks at everything, and commits nothing", async () => {
    appendFileSync(join(git.worktree, "a.txt"), "two\n");

    const read = await agent(git.worktree, "git status --short; git log --format=%s", "ro");
    const written = await agent(git.worktree, "git add a.txt || git commit -qam x || git branch x", "ro");

    expect(read).toMatchObject({ stdout: " M a.txt\nlibrary\none\n", exit: { exitCode: 0 } });
    expect(written.exit.exitCode).not.toBe(0);
    expect(written.stderr.match(/Read-only file system/g)?.length).toBe(3);
  });
});

describe("an agent in a submodule", () => {
  it("looks at everything, and commits nothing, as long as git's folder cannot be guarded", async () => {
    const { exit, stdout } = await agent(git.submodule, "git status --short; git log --format=%s; git commit -qam x");

    expect({ stdout, code: exit.exitCode }).toEqual({ stdout: "one\n", code: 128 });
    expect(existsSync(join(git.main, ".git/modules/lib/commondir"))).toBe(false);
  });

  it("commits on a branch once it can, and the host's git sees the commit", async () => {
    await allowCommits(git.submodule);

    const { exit, stderr, stdout } = await agent(git.submodule, `${COMMIT}; cd src; git log --format=%s -- ../a.txt`);

    expect({ code: exit.exitCode, stderr, stdout }).toEqual({ code: 0, stderr: "", stdout: "by an agent\none\n" });
    expect(onHost(git.submodule, "log", "-1", "--format=%an %s", "work")).toBe("Ada by an agent\n");
    expect(onHost(git.submodule, "status", "--short", "--branch")).toBe("## work\n");
    expect(onHost(git.main, "status", "--short")).toBe(" M lib\n");
    expect(readFileSync(join(git.main, ".git/modules/lib/config"), "utf8")).not.toContain("/workspace");
  });
});

it("an agent whose .git names a folder that does not name it back gets nothing of that", async () => {
  onHost(git.other, "switch", "-q", "-c", "secret");
  const target = join(git.main, ".git/worktrees/other");
  const escaped = await agent(git.worktree, "git log -1");
  writeFileSync(join(git.worktree, ".git"), `gitdir: ${target}\n`);

  const { exit, stderr } = await agent(git.worktree, `git log -1 || ls '${target}'`);

  expect(escaped.exit.exitCode).toBe(0);
  expect(exit.exitCode).not.toBe(0);
  expect(stderr).toContain("No such file or directory");
});
