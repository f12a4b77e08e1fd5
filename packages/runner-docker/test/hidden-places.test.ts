import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { toHidingMounts } from "../src/hidden-places.ts";

let workspace: string;
beforeEach(() => void (workspace = realpathSync(mkdtempSync(join(tmpdir(), "budgie-hidden-")))));
afterEach(() => rmSync(workspace, { recursive: true }));

const hide = () => toHidingMounts(workspace, "/state/no-servers.json");
const FOLDERS = [".kiro/agents", ".kiro/settings", ".kiro/hooks", ".amazonq/cli-agents"];

/** What a repository may have in a place, by how it is made. */
const makers = {
  "a file": (path: string) => writeFileSync(path, ""),
  "a folder": (path: string) => mkdirSync(path),
  "a dangling link": (path: string) => symlinkSync("nowhere", path),
  "a link to a folder": (path: string) => symlinkSync("/etc", path),
  "a link to a file": (path: string) => symlinkSync("/etc/passwd", path),
};

function make(name: string, what: keyof typeof makers): string {
  const path = join(workspace, name);
  mkdirSync(dirname(path), { recursive: true });
  makers[what](path);
  return path;
}

describe("toHidingMounts", () => {
  it.each([[], [".kiro"], [".kiro", ".kiro/steering"], [".amazonq", ".amazonq/rules"]])(
    "mounts nothing and makes nothing when there are only %j %j",
    async (...folders) => {
      for (const folder of folders) make(folder, "a folder");
      const before = readdirSync(workspace, { recursive: true });

      expect(await hide()).toEqual([]);
      expect(readdirSync(workspace, { recursive: true })).toEqual(before);
    },
  );

  it.each(FOLDERS)("covers the folder %s by an empty one that cannot be written", async (name) => {
    make(name, "a folder");

    expect(await hide()).toEqual([
      expect.objectContaining({
        Type: "tmpfs",
        Target: `/workspace/${name}`,
        ReadOnly: true,
        TmpfsOptions: expect.objectContaining({ Mode: 0o555 }),
      }),
    ]);
  });

  it("covers a list of servers by an empty one that cannot be written", async () => {
    make(".amazonq/mcp.json", "a file");

    expect(await hide()).toEqual([
      { Type: "bind", Source: "/state/no-servers.json", Target: "/workspace/.amazonq/mcp.json", ReadOnly: true },
    ]);
  });

  it("covers all that there are", async () => {
    for (const name of FOLDERS) make(name, "a folder");
    make(".amazonq/mcp.json", "a file");

    expect((await hide()).map(({ Target }) => Target)).toEqual(
      [...FOLDERS, ".amazonq/mcp.json"].map((name) => `/workspace/${name}`),
    );
  });

  const odd = (["a file", "a dangling link", "a link to a folder"] as const).flatMap((what) =>
    [".kiro", ".amazonq", ...FOLDERS].map((name) => [what, name] as const),
  );
  const oddLists = (["a folder", "a dangling link", "a link to a file"] as const).map(
    (what) => [what, ".amazonq/mcp.json"] as const,
  );

  it.each([...odd, ...oddLists])("ends the turn when there is %s in place of %s", async (what, name) => {
    const path = make(name, what);

    await expect(hide()).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining(`"${path}"`),
    });
  });

  // Root may look everywhere.
  it.skipIf(process.getuid?.() === 0)("ends the turn when a place cannot be looked at", async () => {
    make(".kiro/agents", "a folder");
    chmodSync(join(workspace, ".kiro"), 0o000);

    await expect(hide()).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    chmodSync(join(workspace, ".kiro"), 0o700);
  });
});
