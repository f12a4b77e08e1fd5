import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createHeldSources, type HeldSources } from "../../src/mounts/held-sources.ts";

let root: string;
let heldSources: HeldSources;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-sources-")));
  mkdirSync(join(root, "project/sub"), { recursive: true });
  mkdirSync(join(root, "secrets/sub"), { recursive: true });
  writeFileSync(join(root, "project/file"), "");
  heldSources = createHeldSources();
});
afterEach(async () => {
  await heldSources[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

const open = (path: string) => heldSources.open(join(root, path));
const MOVED = { code: "WORKSPACE_INVALID", message: expect.stringContaining("was exchanged since it was checked") };

it("distinguishes files, folders, symlinks and missing paths", async () => {
  symlinkSync("sub", join(root, "project/link"));

  const kinds = await Promise.all(["sub", "file", "link", "none"].map((name) => open(`project/${name}`)));

  expect(kinds.map((source) => source?.kind)).toEqual(["folder", "file", "link", undefined]);
});

it("opens nothing through a symlink among the parents", async () => {
  symlinkSync("secrets", join(root, "link"));

  await expect(open("link/sub")).rejects.toMatchObject(MOVED);
});

it.skipIf(process.platform !== "linux")(
  "opens entries of the held folder, not of another one at its path",
  async () => {
    const project = await open("project");
    renameSync(join(root, "project"), join(root, "aside"));
    renameSync(join(root, "secrets"), join(root, "project"));

    await expect(heldSources.open("sub", project)).rejects.toMatchObject(MOVED);
  },
);

it("follows the user's own symlinks", async () => {
  symlinkSync("project", join(root, "link"));

  const [followed, direct] = [await heldSources.follow(join(root, "link")), await open("project")];

  expect(followed?.identity).toBe(direct?.identity);
  expect(await heldSources.follow(join(root, "none"))).toBeUndefined();
});
