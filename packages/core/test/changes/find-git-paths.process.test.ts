import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findGitPaths, type GitPaths } from "../../src/changes/find-git-paths.ts";
import { openRootFolder, closeFolder } from "../../src/walk/open-folder.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";
import { write } from "./executable-repository.ts";

describe("findGitPaths", () => {
  it("keeps only as many steps of a path as are followed", async () => {
    const inside = await findInside(`[core]\n\thooksPath = ${"a/".repeat(2000)}hooks\n`);

    const steps = [...inside].filter(([, what]) => what === "on-the-way");
    // At most 65 steps each from the workspace and from its .git.
    expect(steps.length).toBeLessThanOrEqual(2 * 65);
    expect(inside.get(`${"a/".repeat(64)}a`)).toBe("on-the-way");
  });

  it("returns paths that are watched", async () => {
    const inside = await findInside(`[core]\n\thooksPath = ${"a/".repeat(60)}hooks\n`);

    expect(inside.get(`${"a/".repeat(60)}hooks`)).toBe("named");
  });

  it("reads at most 64 KiB of a configuration", async () => {
    const inside = await findInside(`# ${"x".repeat(64 * 1024)}\n[core]\n\thooksPath = hooks\n`);

    expect([...inside.keys()]).toEqual([]);
  });

  it("waits for no pipe and follows no symlink if .git leads outside", async () => {
    const place = createTemporaryFolder();
    const [workspace, own] = [join(place, "workspace"), join(place, "common/worktrees/own")];
    write(workspace, ".git", `gitdir: ${own}\n`);
    mkdirSync(own, { recursive: true });
    execFileSync("mkfifo", [join(own, "config")]);
    write(place, "back", `${workspace}/.git\n`);
    symlinkSync(join(place, "back"), join(own, "gitdir"));

    expect((await findPaths(workspace)).outside).toEqual([]);
  });
});

async function findInside(config: string): Promise<GitPaths["inside"]> {
  const workspace = createTemporaryFolder();
  write(workspace, ".git/config", config);
  return (await findPaths(workspace)).inside;
}

async function findPaths(workspace: string): Promise<GitPaths> {
  const root = await openRootFolder(workspace);
  try {
    return await findGitPaths(root, workspace);
  } finally {
    closeFolder(root);
  }
}
