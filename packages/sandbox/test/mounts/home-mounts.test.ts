import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMountsPlace, HOME_COVERS } from "./mounts-place.ts";

let root: string;
let mountsOf: ReturnType<typeof createMountsPlace>["mountsOf"];
beforeEach(() => void ({ root, mountsOf } = createMountsPlace()));
afterEach(() => rmSync(root, { recursive: true }));

describe("the home", () => {
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
      { type: "bind", source, target: "/home/agent/.kiro/steering", isReadOnly: true },
      { type: "bind", source, target: source, isReadOnly: true },
    ]);
  });

  it("replace an otherwise empty folder of agents", async () => {
    const source = join(root, "agents");
    mkdirSync(source);

    const mounts = (await mountsOf({ projections: [{ source, home: ".kiro/agents" }] })).filter(
      ({ target }) => target === "/home/agent/.kiro/agents",
    );

    expect(mounts).toEqual([{ type: "bind", source, target: "/home/agent/.kiro/agents", isReadOnly: true }]);
  });

  it("appear only at their own path if they have none in the home", async () => {
    const source = join(root, "prompt.md");
    writeFileSync(source, "");

    expect(
      (await mountsOf({ projections: [{ source, home: undefined }] }))
        .slice(7, -HOME_COVERS.length)
        .map(({ target }) => target),
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
      ({ target }) => target,
    );

    expect(targets).toEqual([...new Set(targets)]);
    expect((await mountsOf({ projections: [{ source: "/etc/passwd", home: undefined }] }))[2]?.source).toBe(
      join(root, "passwd"),
    );
  });

  it("are shown without the mounts below them if they are required", async () => {
    const source = join(root, "schemas");
    mkdirSync(source);

    const mounts = await mountsOf({ projections: [{ source, home: undefined, isRequired: true }] });

    expect(mounts).toContainEqual({ type: "bind", source, target: source, isReadOnly: true, isNonRecursive: true });
  });

  it.each([
    ["missing", "CONFIG_INVALID", "is missing"],
    ["link", "WORKSPACE_INVALID", "was exchanged"],
    ["link/inside", "WORKSPACE_INVALID", "was exchanged"],
    ["socket", "CONFIG_INVALID", "is neither a file nor a folder"],
    ["/opt", "CONFIG_INVALID", 'has a path that a sandbox needs for its own "/opt/agents"'],
    ["/workspace/x", "CONFIG_INVALID", 'for its own "/workspace"'],
  ])("are refused if they are required and %s", async (name, code, message) => {
    mkdirSync(join(root, "real/inside"), { recursive: true });
    symlinkSync(join(root, "real"), join(root, "link"));
    const server = createServer().listen(join(root, "socket"));
    await once(server, "listening");
    const source = resolve(root, name);

    const asked = mountsOf({ projections: [{ source, home: undefined, isRequired: true }] });

    await expect(asked).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    await expect(asked).rejects.toThrow(`"${source}"`);
    server.close();
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
    ).map(({ target }) => target);

    expect(targets.filter((target) => target.startsWith(source))).toEqual([source]);
  });
});
