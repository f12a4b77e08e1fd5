import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProtectablePaths } from "../../src/changes/find-protectable-paths.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("findProtectablePaths", () => {
  it("finds existing paths at the root only", async () => {
    const root = createTemporaryFolder();
    for (const folder of [".git/hooks", ".git/objects", ".github/workflows", ".vscode", "src/.vscode"]) {
      mkdirSync(join(root, folder), { recursive: true });
    }
    for (const file of [".git/config", ".envrc", "package.json", "a.ts", "src/.envrc"])
      writeFileSync(join(root, file), "");

    const paths = await findProtectablePaths(root);

    expect(paths.toSorted()).toEqual([
      ".envrc",
      ".git/config",
      ".git/hooks",
      ".github/workflows",
      ".vscode",
      "package.json",
    ]);
  });

  it("finds a .git that is a file", async () => {
    const root = createTemporaryFolder();
    writeFileSync(join(root, ".git"), "gitdir: elsewhere");

    expect(await findProtectablePaths(root)).toEqual([".git"]);
  });

  it.each([".git", ".git/hooks", ".github", ".envrc"])(
    "refuses a workspace if %s is a symlink, and names it",
    async (path) => {
      const root = createTemporaryFolder();
      mkdirSync(dirname(join(root, path)), { recursive: true });
      symlinkSync("elsewhere", join(root, path));

      await expect(findProtectablePaths(root)).rejects.toMatchObject({
        code: "WORKSPACE_INVALID",
        message: expect.stringContaining(`"${join(root, path)}"`),
      });
    },
  );
});
