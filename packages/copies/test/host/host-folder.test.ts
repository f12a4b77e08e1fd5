import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { POOLED } from "../../src/host/file-calls.ts";
import { changeFolderMode, openHostFolder } from "../../src/host/host-folder.ts";

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

it.skipIf(process.platform !== "linux")(
  "a directory with a mount in it, as / has, is called in the thread pool",
  async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "budgie-host-")));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const hosts = await Promise.all(["/", folder].map(openHostFolder));
    onTestFinished(() => hosts.forEach((host) => host.close()));

    expect(hosts.map(({ calls }) => calls === POOLED)).toEqual([true, false]);
  },
);
