import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { areFoldersOf, makeFolders, toRoots } from "../../src/sidecar/pod-roots.ts";

it("folders of another user are told from the own ones", async () => {
  const root = mkdtempSync(join(tmpdir(), "budgie-roots-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const roots = toRoots(root);
  await makeFolders(roots);
  const uid = process.getuid?.() ?? 0;

  expect(await areFoldersOf(uid, roots)).toBe(true);
  expect(await areFoldersOf(uid + 1, roots)).toBe(false);
});
