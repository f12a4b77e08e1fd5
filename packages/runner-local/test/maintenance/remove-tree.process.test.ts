import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { removeTree } from "../../src/maintenance/remove-tree.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

describe("removeTree", () => {
  afterEach(() => isRoot && process.seteuid?.(0));

  it("removes read-only folders as an ordinary user", async () => {
    const root = mkdtempSync(join(tmpdir(), "budgie-"));
    if (isRoot) {
      chownSync(root, NOBODY, NOBODY);
      process.seteuid?.(NOBODY);
    }
    mkdirSync(join(root, "tree/module/cache"), { recursive: true });
    writeFileSync(join(root, "tree/module/cache/file"), "");
    for (const folder of ["tree/module/cache", "tree/module", "tree"]) chmodSync(join(root, folder), 0o555);

    await removeTree(join(root, "tree"));

    expect(readdirSync(root)).toEqual([]);
    if (isRoot) process.seteuid?.(0);
    await removeTree(root);
  });

  it("follows no symlink", async () => {
    const root = mkdtempSync(join(tmpdir(), "budgie-"));
    mkdirSync(join(root, "outside"));
    mkdirSync(join(root, "tree"));
    writeFileSync(join(root, "outside/file"), "");
    symlinkSync(join(root, "outside"), join(root, "tree/link"));

    await removeTree(join(root, "tree"));

    expect(existsSync(join(root, "tree"))).toBe(false);
    expect(existsSync(join(root, "outside/file"))).toBe(true);
    await removeTree(root);
  });

  it("accepts a missing tree", async () => {
    await expect(removeTree(join(tmpdir(), "budgie-no-such-tree"))).resolves.toBeUndefined();
  });
});
