import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ALL_HIDDEN_PATHS } from "@budgie/core";
import { toSessionMounts } from "../../src/sandbox/mounts.ts";
import { createMountsPlace, HOME_COVERS, volumes, type AskedMounts } from "./mounts-place.ts";

let root: string;
let workspace: string;
let mountsOf: ReturnType<typeof createMountsPlace>["mountsOf"];
beforeEach(() => void ({ root, workspace, mountsOf } = createMountsPlace()));
afterEach(() => rmSync(root, { recursive: true }));

describe("holdTurnMounts", () => {
  it("mounts the home and the workspace writable, and everything else read-only", async () => {
    const mounts = await mountsOf();

    expect(mounts.map(({ ReadOnly, Source, Target, Type }) => [Type, Source, Target, ReadOnly === true])).toEqual([
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

    expect(mounts.map(({ Target }) => Target)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/resolv|hosts/)]),
    );
    expect(mounts.map(({ Target }) => Target)).toContain("/etc/budgie/depth");
  });

  it("mounts a read-only workspace without the mounts in it", async () => {
    const mounts = await mountsOf({ workspaceMode: "ro" });

    expect(mounts.find(({ Target }) => Target === "/workspace")).toEqual({
      Type: "bind",
      Source: workspace,
      Target: "/workspace",
      ReadOnly: true,
      BindOptions: { Propagation: "rprivate", NonRecursive: true },
    });
    expect(mounts.filter(({ Target }) => Target !== "/workspace")).toEqual(
      (await mountsOf()).filter(({ Target }) => Target !== "/workspace"),
    );
  });

  it("copies no file of the sandbox image into a volume", async () => {
    const all = (await mountsOf()).filter(({ Type }) => Type === "volume");

    expect(all).toHaveLength(2);
    expect(all.every(({ VolumeOptions }) => VolumeOptions?.NoCopy === true)).toBe(true);
  });

  it("labels a volume that an engine would create again, as such", async () => {
    const labels = (await mountsOf()).map(({ VolumeOptions }) => VolumeOptions?.Labels);

    expect(labels[0]).toEqual({ role: "home", "dev.budgie.made-for-mount": "1" });
    expect(labels[1]?.["role"]).toBe("auth");
  });

  it("gives the session container both volumes writable, and empty ones the folders of its own image", () => {
    const mounts = toSessionMounts(volumes);

    expect(mounts.map(({ ReadOnly, Target, VolumeOptions }) => [Target, ReadOnly, VolumeOptions?.NoCopy])).toEqual([
      ["/home", undefined, false],
      ["/auth", undefined, false],
    ]);
  });
});

describe("a protected path", () => {
  it("is mounted read-only, and its parents are mounts too", async () => {
    mkdirSync(join(workspace, ".git/hooks"), { recursive: true });
    for (const file of [".git/config", ".envrc"]) writeFileSync(join(workspace, file), "");
    const mounts = await mountsOf({ protectedPaths: [".git/hooks", ".git/config", ".envrc"] });

    const below = mounts.filter(({ Target }) => Target.startsWith("/workspace/"));

    expect(below.map(({ ReadOnly, Source, Target }) => [Source, Target, ReadOnly])).toEqual([
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
    const below = (await mountsOf(asked)).filter(({ Target }) => Target.startsWith("/workspace/"));
    return below.map(({ ReadOnly, Source, Target }) => [Source, Target, ReadOnly === true]);
  };

  it("is covered by a folder of budgie's, with the folder's other entries mounted in it", async () => {
    expect(await mountsBelow({})).toEqual([
      ["SKELETON/.kiro", "/workspace/.kiro", true],
      [join(workspace, ".kiro/steering"), "/workspace/.kiro/steering", false],
    ]);
    expect((await mountsOf()).filter(({ Type }) => Type === "tmpfs")).toEqual([]);
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

    const below = mounts.filter(({ Target }) => Target.startsWith("/workspace/"));
    expect(Object.fromEntries(below.map(({ ReadOnly, Target }) => [Target, ReadOnly === true]))).toEqual({
      "/workspace/.github": true,
      "/workspace/.github/ISSUE_TEMPLATE": false,
      "/workspace/.github/workflows": true,
    });
  });
});
