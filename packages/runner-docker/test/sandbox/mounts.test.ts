import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KIRO_HIDDEN_PATHS, toHidden, type Access, type Projection } from "@budgie/core";
import { holdTurnMounts, toSessionMounts } from "../../src/sandbox/mounts.ts";

let root: string;
let workspace: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-mounts-")));
  workspace = join(root, "workspace");
  mkdirSync(workspace);
  writeFileSync(join(root, "passwd"), "");
});
afterEach(() => rmSync(root, { recursive: true }));

const volumes = {
  home: { name: "the-home", labels: { role: "home" } },
  auth: { name: "the-auth", labels: { role: "auth" } },
};

/** The folders of the home that a sandbox covers. */
const HOME_COVERS = ["agents", "hooks", "workflows", "workspace-roots", "settings"].map((name) => `.kiro/${name}`);

type Asked = {
  readonly projections?: readonly Projection[];
  readonly workspaceMode?: Access["workspace"];
  readonly protectedPaths?: readonly string[];
  readonly network?: string;
};

async function mountsOf(asked: Asked = {}) {
  const { network = "container:budgie-session-1", projections = [], protectedPaths = [], workspaceMode = "rw" } = asked;
  const [passwdFile, nestingFile] = [join(root, "passwd"), join(root, "depth")];
  const [resolvFile, hostsFile] = [join(root, "resolv"), join(root, "hosts")];
  const skeleton = join(root, `skeleton-${Math.random()}`);
  const files = { passwdFile, nestingFile, resolvFile, hostsFile, network, caFile: undefined, skeleton };
  const turn = {
    volumes,
    workspace,
    workspaceMode,
    protectedPaths,
    projections,
    hidden: toHidden({ hidden: KIRO_HIDDEN_PATHS }),
    ...files,
  };
  await using held = await holdTurnMounts(turn);
  return held.mounts.map(({ settings }) => ({ ...settings, Source: settings.Source.replace(skeleton, "SKELETON") }));
}

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

  it("shows budgie's settings of Kiro in the home, and nothing else in the folders that could change its next turn", async () => {
    await mountsOf();

    const covers = join(root, readdirSync(root).find((name) => name.startsWith("skeleton-")) ?? "", "~/.kiro");

    const entries = readdirSync(covers).toSorted();
    expect(entries.map((name) => [name, readdirSync(join(covers, name))])).toEqual([
      ["agents", []],
      ["hooks", []],
      ["settings", ["cli.json"]],
      ["workflows", []],
      ["workspace-roots", []],
    ]);
    expect(JSON.parse(readFileSync(join(covers, "settings/cli.json"), "utf8"))).toEqual({ "telemetry.enabled": false });
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
  const mountsBelow = async (asked: Asked) => {
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
});

describe("projections", () => {
  it("appear below the home and at their own path, read-only", async () => {
    const source = join(root, "kiro/steering");
    mkdirSync(source, { recursive: true });

    const mounts = (await mountsOf({ projections: [{ source, home: ".kiro/steering" }] })).slice(
      7,
      -HOME_COVERS.length,
    );

    expect(mounts).toEqual([
      { Type: "bind", Source: source, Target: "/home/agent/.kiro/steering", ReadOnly: true },
      { Type: "bind", Source: source, Target: source, ReadOnly: true },
    ]);
  });

  it("replace an otherwise empty folder of agents", async () => {
    const source = join(root, "agents");
    mkdirSync(source);

    const mounts = (await mountsOf({ projections: [{ source, home: ".kiro/agents" }] })).filter(
      ({ Target }) => Target === "/home/agent/.kiro/agents",
    );

    expect(mounts).toEqual([{ Type: "bind", Source: source, Target: "/home/agent/.kiro/agents", ReadOnly: true }]);
  });

  it("appear only at their own path if they have none in the home", async () => {
    const source = join(root, "prompt.md");
    writeFileSync(source, "");

    expect(
      (await mountsOf({ projections: [{ source, home: undefined }] }))
        .slice(7, -HOME_COVERS.length)
        .map(({ Target }) => Target),
    ).toEqual([source]);
  });

  it("are omitted if they do not exist or are dangling symlinks", async () => {
    symlinkSync("nowhere", join(root, "dangling"));
    const projections = ["missing", "dangling"].map((name) => ({ source: join(root, name), home: `.kiro/${name}` }));

    expect(await mountsOf({ projections })).toHaveLength(7 + HOME_COVERS.length);
  });

  it("never mount a target twice, or one of budgie's targets", async () => {
    const source = join(root, "agents");
    mkdirSync(source);
    const twice = { source, home: ".kiro/agents" };
    const targets = (await mountsOf({ projections: [twice, twice, { source: "/etc/passwd", home: undefined }] })).map(
      ({ Target }) => Target,
    );

    expect(targets).toEqual([...new Set(targets)]);
    expect((await mountsOf({ projections: [{ source: "/etc/passwd", home: undefined }] }))[2]?.Source).toBe(
      join(root, "passwd"),
    );
  });

  it("may end in a slash", async () => {
    const source = join(root, "agents");
    mkdirSync(source);

    const targets = (
      await mountsOf({
        projections: [
          { source, home: undefined },
          { source: `${source}/`, home: undefined },
        ],
      })
    ).map(({ Target }) => Target);

    expect(targets.filter((target) => target.startsWith(source))).toEqual([source]);
  });
});
