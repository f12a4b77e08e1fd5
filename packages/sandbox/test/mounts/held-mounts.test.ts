import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ALL_HIDDEN_PATHS } from "@budgie/core/policy";
import { listSessionMounts } from "../../src/mounts/held-mounts.ts";
import { createMountsPlace, HOME_COVERS, volumes, type AskedMounts } from "./mounts-place.ts";

let root: string;
let workspace: string;
let mountsOf: ReturnType<typeof createMountsPlace>["mountsOf"];
beforeEach(() => void ({ root, workspace, mountsOf } = createMountsPlace()));
afterEach(() => rmSync(root, { recursive: true }));

describe("holdMounts", () => {
  it("mounts the home and the workspace writable, and everything else read-only", async () => {
    const mounts = await mountsOf();

    expect(mounts.map(({ isReadOnly, source, target, type }) => [type, source, target, isReadOnly])).toEqual([
      ["volume", "the-home", "/home", false],
      ["volume", "the-auth", "/auth", true],
      ["bind", join(root, "passwd"), "/etc/passwd", true],
      ["bind", join(root, "depth"), "/etc/budgie/depth", true],
      ["bind", join(root, "resolv"), "/etc/resolv.conf", true],
      ["bind", join(root, "hosts"), "/etc/hosts", true],
      ["bind", workspace, "/workspace", false],
      ...HOME_COVERS.map((path) => ["bind", `SKELETON/~/${path}`, `/home/agent/${path}`, true]),
    ]);
  });

  it("keeps the engine's name servers for a turn in the engine's network", async () => {
    const mounts = await mountsOf({ network: "bridge" });

    expect(mounts.map(({ target }) => target)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/resolv|hosts/)]),
    );
    expect(mounts.map(({ target }) => target)).toContain("/etc/budgie/depth");
  });

  it("mounts a read-only workspace without the mounts in it", async () => {
    const mounts = await mountsOf({ workspaceMode: "ro" });

    expect(mounts.find(({ target }) => target === "/workspace")).toEqual({
      type: "bind",
      source: workspace,
      target: "/workspace",
      isReadOnly: true,
      isNonRecursive: true,
    });
    expect(mounts.filter(({ target }) => target !== "/workspace")).toEqual(
      (await mountsOf()).filter(({ target }) => target !== "/workspace"),
    );
  });

  it("copies no file of the sandbox image into a volume", async () => {
    const all = (await mountsOf()).filter(({ type }) => type === "volume");

    expect(all).toMatchObject([{ noCopy: true }, { noCopy: true }]);
  });

  it("labels a volume that an engine would create again", async () => {
    expect((await mountsOf()).slice(0, 2)).toMatchObject([{ labels: { role: "home" } }, { labels: { role: "auth" } }]);
  });

  it("gives the session container both volumes writable, and empty ones the folders of its own image", () => {
    const mounts = listSessionMounts(volumes);

    expect(mounts.map(({ isReadOnly, noCopy, target }) => [target, isReadOnly, noCopy])).toEqual([
      ["/home", false, false],
      ["/auth", false, false],
    ]);
  });
});

describe("a protected path", () => {
  it("is mounted read-only, and its parents are mounts too", async () => {
    mkdirSync(join(workspace, ".git/hooks"), { recursive: true });
    for (const file of [".git/config", ".envrc"]) writeFileSync(join(workspace, file), "");
    const mounts = await mountsOf({ protectedPaths: [".git/hooks", ".git/config", ".envrc"] });

    const below = mounts.filter(({ target }) => target.startsWith("/workspace/"));

    expect(below.map(({ isReadOnly, source, target }) => [source, target, isReadOnly])).toEqual([
      [join(workspace, ".git"), "/workspace/.git", false],
      [join(workspace, ".git/hooks"), "/workspace/.git/hooks", true],
      [join(workspace, ".git/config"), "/workspace/.git/config", true],
      [join(workspace, ".envrc"), "/workspace/.envrc", true],
    ]);
  });
});

describe("a path to protect", () => {
  it.each([".git", ".git/hooks"])("is refused once %s is a symlink, in spite of earlier checks", async (link) => {
    mkdirSync(join(root, "secrets/hooks"), { recursive: true });
    if (link !== ".git") mkdirSync(join(workspace, ".git"));
    symlinkSync(join(root, "secrets"), join(workspace, link));

    await expect(mountsOf({ protectedPaths: [".git/hooks"] })).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining(join(workspace, link)),
    });
  });
});

describe("a folder in which a repository could redefine the agent", () => {
  const mountsBelow = async (asked: AskedMounts) => {
    mkdirSync(join(workspace, ".kiro/agents"), { recursive: true });
    mkdirSync(join(workspace, ".kiro/steering"));
    const below = (await mountsOf(asked)).filter(({ target }) => target.startsWith("/workspace/"));
    return below.map(({ isReadOnly, source, target }) => [source, target, isReadOnly]);
  };

  it("is covered by a folder of budgie's, with the folder's other entries mounted in it", async () => {
    expect(await mountsBelow({})).toEqual([
      ["SKELETON/.kiro", "/workspace/.kiro", true],
      [join(workspace, ".kiro/steering"), "/workspace/.kiro/steering", false],
    ]);
  });

  it.each([{ workspaceMode: "ro" }, { protectedPaths: [".kiro"] }] as const)("is read-only with %j", async (asked) => {
    expect((await mountsBelow(asked)).map(([, target, isReadOnly]) => [target, isReadOnly])).toEqual([
      ["/workspace/.kiro", true],
      ["/workspace/.kiro/steering", true],
    ]);
  });

  it("shows no hidden entry because its path is protected too, and shows a protected one read-only", async () => {
    for (const folder of ["hooks", "workflows", "ISSUE_TEMPLATE"]) {
      mkdirSync(join(workspace, ".github", folder), { recursive: true });
    }
    const protectedPaths = [".github/hooks", ".github/workflows"];

    const mounts = await mountsOf({ hiddenPaths: ALL_HIDDEN_PATHS, protectedPaths });

    const below = mounts.filter(({ target }) => target.startsWith("/workspace/"));
    expect(Object.fromEntries(below.map(({ isReadOnly, target }) => [target, isReadOnly]))).toEqual({
      "/workspace/.github": true,
      "/workspace/.github/ISSUE_TEMPLATE": false,
      "/workspace/.github/workflows": true,
    });
  });
});
