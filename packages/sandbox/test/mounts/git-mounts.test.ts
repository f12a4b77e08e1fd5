import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GitFolders } from "@budgie/core/policy";
import { failureOf } from "@budgie/testkit";
import { createMountsPlace, type AskedMounts } from "./mounts-place.ts";

let root: string;
let workspace: string;
let common: string;
let git: GitFolders;
let mountsOf: ReturnType<typeof createMountsPlace>["mountsOf"];
beforeEach(() => {
  ({ root, workspace, mountsOf } = createMountsPlace());
  common = join(root, "main/.git");
  for (const file of ["HEAD", "objects/info/packs", "refs/x", "worktrees/tree/commondir"]) write(join(common, file));
  write(join(workspace, ".git"));
  const [writable, guarded] = [
    ["objects", "refs", "worktrees/tree"],
    ["objects/info", "worktrees/tree/commondir"],
  ];
  git = { own: join(common, "worktrees/tree"), common, config: undefined, writable, guarded };
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
}

/** Lists the mounts that have to do with git, by target: the source and its access. */
async function gitMountsOf(asked: AskedMounts) {
  const mounts = (await mountsOf(asked)).filter(({ target }) => /\/\.git(?:\/|$)/.test(target));
  return Object.fromEntries(mounts.map(({ isReadOnly, source, target }) => [target, [source, isReadOnly]]));
}

describe("gitMounts", () => {
  it("mounts the shared folder at its own path, read-only but for some parts", async () => {
    expect(await gitMountsOf({ git })).toEqual({
      "/workspace/.git": ["SKELETON/.git/pointer", true],
      [`${workspace}/.git`]: ["SKELETON/.git/pointer", true],
      [common]: [common, true],
      [`${common}/objects`]: [join(common, "objects"), false],
      [`${common}/refs`]: [join(common, "refs"), false],
      [`${common}/worktrees/tree`]: [join(common, "worktrees/tree"), false],
      [`${common}/objects/info`]: [join(common, "objects/info"), true],
      [`${common}/worktrees/tree/commondir`]: [join(common, "worktrees/tree/commondir"), true],
    });
  });

  it("mounts all of it read-only for an agent that may only read", async () => {
    const mounts = Object.values(await gitMountsOf({ git, workspaceMode: "ro" }));

    expect(mounts).toHaveLength(8);
    expect(mounts.map(([, isReadOnly]) => isReadOnly)).toEqual(mounts.map(() => true));
  });

  it("shows a submodule's configuration with the workspace's path, and leaves the folder itself writable", async () => {
    const config = "[core]\n\tworktree = ../../../lib";

    const mounts = await gitMountsOf({
      git: { own: common, common, config, writable: [""], guarded: ["objects/info"] },
    });

    expect(mounts[common]).toEqual([common, false]);
    expect(mounts[`${common}/config`]).toEqual(["SKELETON/.git/config", true]);
  });

  it("makes a .git that is a file read-only even where git does not work", async () => {
    expect(await gitMountsOf({})).toEqual({ "/workspace/.git": [join(workspace, ".git"), true] });
    expect(await gitMountsOf({ workspaceMode: "ro" })).toEqual({});
  });

  it("leaves a .git that is a folder, or missing, as it is", async () => {
    rmSync(join(workspace, ".git"));
    expect(await gitMountsOf({})).toEqual({});

    mkdirSync(join(workspace, ".git"));
    expect(await gitMountsOf({})).toEqual({});
  });

  it.each(["", "objects", "worktrees/tree", "objects/info", "worktrees/tree/commondir"])(
    "refuses a symlink that somebody puts in the place of %j after the check",
    async (name) => {
      const path = join(common, name);
      renameSync(path, `${root}/moved`);
      symlinkSync(`${root}/moved`, path);

      expect((await failureOf(mountsOf({ git }))).code).toBe("WORKSPACE_INVALID");
    },
  );

  it("refuses a folder or a symlink that somebody puts in the place of the .git file after the check", async () => {
    rmSync(join(workspace, ".git"));
    symlinkSync(common, join(workspace, ".git"));

    expect((await failureOf(mountsOf({ git }))).code).toBe("WORKSPACE_INVALID");
  });
});
