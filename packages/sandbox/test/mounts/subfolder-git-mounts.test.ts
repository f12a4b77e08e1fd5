import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GitFolders } from "@budgie/core/policy";
import { failureOf } from "@budgie/testkit";
import { createMountsPlace } from "./mounts-place.ts";

let root: string;
let workspace: string;
let common: string;
let git: GitFolders;
let mountsOf: ReturnType<typeof createMountsPlace>["mountsOf"];
beforeEach(() => {
  ({ root, workspace, mountsOf } = createMountsPlace());
  common = join(root, ".git");
  for (const folder of ["objects", "refs"]) mkdirSync(join(common, folder), { recursive: true });
  for (const file of ["HEAD", "packed-refs", "config"]) writeFileSync(join(common, file), "");
  git = { own: common, common, config: undefined, writable: [], guarded: [], around: root };
});
afterEach(() => rmSync(root, { recursive: true }));

describe("subfolderGitMounts", () => {
  it("shows nothing of the repository's directory, and of its git only what the session's own takes from it", async () => {
    const mounts = await mountsOf({ git, workspacePath: "same" });

    const shown = mounts.filter(
      ({ source, target }) => target.startsWith("/repository.git") || source.includes("/.git"),
    );
    expect(shown.map(({ isReadOnly, source, target }) => [target, source, isReadOnly])).toEqual([
      [root, "SKELETON/.git/around", true],
      ["/repository.git/HEAD", join(common, "HEAD"), true],
      ["/repository.git/objects", join(common, "objects"), true],
      ["/repository.git/refs", join(common, "refs"), true],
      ["/repository.git/packed-refs", join(common, "packed-refs"), true],
    ]);
    expect(mounts).toContainEqual(expect.objectContaining({ target: workspace, isReadOnly: false }));
  });

  it.each(["HEAD", "objects", "packed-refs"])(
    "refuses a symlink that somebody puts in the place of %j after the check",
    async (name) => {
      renameSync(join(common, name), `${root}/moved`);
      symlinkSync(`${root}/moved`, join(common, name));

      expect((await failureOf(mountsOf({ git, workspacePath: "same" }))).code).toBe("WORKSPACE_INVALID");
    },
  );

  it("refuses a repository whose directory would hide the sandbox's own", async () => {
    const { code, message } = await failureOf(mountsOf({ git: { ...git, around: "/home" }, workspacePath: "same" }));

    expect(code).toBe("WORKSPACE_INVALID");
    expect(message).toContain('"/home" cannot have its own path in a sandbox, which has its own "/home/agent"');
  });
});
