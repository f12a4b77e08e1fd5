import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { changeFolderMode } from "../../src/host/host-folder.ts";

it("the permission bits of a folder change, and not those of what a planted symlink leads to", async () => {
  const top = mkdtempSync(join(tmpdir(), "budgie-host-"));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [folder, link] = [join(top, "folder"), join(top, "link")];
  mkdirSync(folder, 0o700);
  symlinkSync("folder", link);

  await expect(changeFolderMode(Buffer.from(link), 0o777)).rejects.toMatchObject({ code: "ENOTDIR" });
  expect(statSync(folder).mode & 0o7777).toBe(0o700);
  await changeFolderMode(Buffer.from(folder), 0o1750);
  expect(statSync(folder).mode & 0o7777).toBe(0o1750);
});
