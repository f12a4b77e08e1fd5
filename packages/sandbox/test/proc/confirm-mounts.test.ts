import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { confirmMounts } from "../../src/proc/confirm-mounts.ts";
import type { ContainerRoot } from "../../src/proc/open-root.ts";
import { createHeldSources, type HeldSources } from "../../src/mounts/held-sources.ts";
import { readOnlyBind } from "../../src/mounts/mount-settings.ts";

let root: string;
let heldSources: HeldSources;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-confirm-")));
  for (const folder of ["etc", "my folder", "secrets"]) mkdirSync(join(root, folder));
  writeFileSync(join(root, "etc/real"), "");
  heldSources = createHeldSources();
});
afterEach(async () => {
  await heldSources[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

type Shown = { readonly at: string; readonly source?: string; readonly options?: string; readonly point?: string };

/** Confirms one read-only mount in a folder that represents a container's root, and lies in one mount of this machine. */
async function confirm({ at, options = "ro,relatime", point = at, source = at }: Shown): Promise<void> {
  const held = await heldSources.open(join(root, source));
  const workspace = await heldSources.open(root);
  if (held === undefined || workspace === undefined) throw new Error("There is no such source.");
  const handle = await open(root);
  const id = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${handle.fd}`, "utf8"))?.[1];
  await handle.close();
  const text = `1 0 0:1 / / rw - overlay overlay rw\n${id} 1 0:2 / ${point} ${options} master:7 - ext4 /dev/x rw\n`;
  const container = { path: root, readMounts: async () => text } as ContainerRoot;
  const mounts = [{ settings: readOnlyBind(held.path, at), source: held }];
  const nothing = { workspace, workspacePath: "/workspace", absent: [], [Symbol.asyncDispose]: async () => undefined };
  await confirmMounts({ mounts, ...nothing }, container);
}

describe.skipIf(process.platform !== "linux")("a mount of a container", () => {
  it("is confirmed if it is the held source, read-only as requested, under any name", async () => {
    await confirm({ at: "/etc" });
    await confirm({ at: "/my folder", point: String.raw`/my\040folder` });
  });

  it("is confirmed at the target of the image's symlinks", async () => {
    symlinkSync("/etc", join(root, "link"));
    symlinkSync("real", join(root, "etc/passwd"));

    await confirm({ at: "/link/passwd", source: "/etc/real", point: "/etc/real" });
  });

  it.each([
    ["another folder than was held", { at: "/etc", source: "/secrets" }],
    ["one that can be written", { at: "/etc", options: "rw,relatime" }],
    ["one that is mounted elsewhere", { at: "/etc", point: "/other" }],
    ["one that is not there", { at: "/nowhere", source: "/etc" }],
  ] as const)("is refused for %s", async (_what, shown) => {
    await expect(confirm(shown)).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
  });

  it("is refused if a symlink below another mount resolves elsewhere", async () => {
    symlinkSync("../secrets", join(root, "etc/hooks"));

    await expect(confirm({ at: "/etc/hooks", source: "/secrets", point: "/etc" })).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
    });
  });
});
