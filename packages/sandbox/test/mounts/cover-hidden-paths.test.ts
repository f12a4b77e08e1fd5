import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KIRO_HIDDEN_PATHS, splitHidden, type HiddenPaths } from "@budgie/core/policy";
import { coverHiddenPaths } from "../../src/mounts/cover-hidden-paths.ts";
import { createHeldSources } from "../../src/mounts/held-sources.ts";

let root: string;
let workspace: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-hidden-")));
  workspace = join(root, "workspace");
  mkdirSync(workspace);
});
afterEach(() => rmSync(root, { recursive: true }));

/** Lists the names of covered files and folders. */
async function cover(paths: HiddenPaths = KIRO_HIDDEN_PATHS) {
  await using heldSources = createHeldSources();
  const held = await heldSources.open(workspace);
  if (held === undefined) throw new Error("There is no workspace.");
  const options = { hidden: splitHidden({ hidden: paths }).ofWorkspace, skeleton: join(root, "skeleton") };
  const { absent, covered, kept } = await coverHiddenPaths(held, heldSources, options);
  return {
    absent,
    ...(kept.length === 0 ? {} : { kept: kept.map(({ path }) => path) }),
    covered: Object.fromEntries(covered.map(({ name, shown }) => [name, shown.map(({ path }) => path).toSorted()])),
  };
}
const list = (...path: string[]) => readdirSync(join(root, "skeleton", ...path)).toSorted();
const FOLDERS = [".kiro/agents", ".kiro/settings", ".kiro/hooks", ".kiro/workflows", ".amazonq/cli-agents"];
const COVERED = [".kiro", ".amazonq"];

/** Functions that create what a repository may have at a path. */
const makers = {
  "a file": (path: string) => writeFileSync(path, "of the repository"),
  "a folder": (path: string) => mkdirSync(path),
  "a dangling link": (path: string) => symlinkSync("nowhere", path),
  "a link to a folder": (path: string) => symlinkSync("/etc", path),
};

function make(name: string, what: keyof typeof makers): string {
  const path = join(workspace, name);
  mkdirSync(dirname(path), { recursive: true });
  makers[what](path);
  return path;
}

describe("coverHiddenPaths", () => {
  it("covers and creates nothing in a workspace without its folders, and reports them as absent", async () => {
    expect(await cover()).toEqual({ absent: COVERED, covered: {} });
    expect(readdirSync(workspace)).toEqual([]);
  });

  it.each(COVERED)("covers %s as a whole, even if nothing in it is to be hidden yet", async (name) => {
    make(`${name}/steering`, "a folder");
    const before = readdirSync(workspace, { recursive: true });

    expect((await cover()).covered).toEqual({ [name]: [join(workspace, name, "steering")] });
    expect(list(name)).toEqual(["steering"]);
    expect(readdirSync(workspace, { recursive: true })).toEqual(before);
  });

  it("shows no hidden path, of any kind", async () => {
    for (const [index, name] of FOLDERS.entries()) {
      make(name, (["a file", "a folder", "a dangling link", "a link to a folder"] as const)[index] ?? "a file");
    }
    make(".amazonq/mcp.json", "a file");

    expect((await cover()).covered).toEqual({ ".kiro": [], ".amazonq": [] });
    expect([list(".kiro"), list(".amazonq")]).toEqual([
      ["agents", "hooks", "settings", "workflows"],
      ["cli-agents", "mcp.json"],
    ]);
    for (const name of FOLDERS) expect(list(name)).toEqual([]);
    const servers = readFileSync(join(root, "skeleton/.amazonq/mcp.json"), "utf8");
    expect(servers).toBe('{ "mcpServers": {} }\n');
  });

  it.each(["Agents", "AGENTS", "agent\u017f"])(
    "hides %s too, which is the same name on some file systems",
    async (name) => {
      make(`.kiro/${name}`, "a folder");

      expect((await cover()).covered).toEqual({ ".kiro": [] });
    },
  );

  it("covers whole folders and files of other programs too", async () => {
    make(".codex/config.toml", "a file");
    make(".mcp.json", "a file");
    const hidden = { ".codex": "empty folder", ".mcp.json": { content: "{}" }, ".qwen": "empty folder" } as const;

    expect(await cover(hidden)).toEqual({ absent: [".qwen"], covered: { ".codex": [], ".mcp.json": [] } });
    expect(list(".codex")).toEqual([]);
    expect(readFileSync(join(root, "skeleton/.mcp.json"), "utf8")).toBe("{}");
  });

  it("covers entries of a folder, and keeps a file in its place, where that may be either", async () => {
    const hidden = { ".rules": { entries: { hooks: "empty folder" }, mayBeFile: true } } as const;
    make(".rules", "a file");
    expect(await cover(hidden)).toEqual({ absent: [], covered: {}, kept: [join(workspace, ".rules")] });

    rmSync(join(workspace, ".rules"));
    make(".rules/hooks/PreToolUse", "a file");
    make(".rules/style.md", "a file");
    expect((await cover(hidden)).covered).toEqual({ ".rules": [join(workspace, ".rules/style.md")] });
    expect(list(".rules", "hooks")).toEqual([]);

    rmSync(join(workspace, ".rules"), { recursive: true });
    make(".rules", "a link to a folder");
    await expect(cover(hidden)).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
  });

  it("covers a folder with one that has only its own files", async () => {
    make(".tool/mine.json", "a file");

    expect(await cover({ ".tool": { files: { "settings.json": "{}" } } })).toMatchObject({ covered: { ".tool": [] } });
    expect(list(".tool")).toEqual(["settings.json"]);
  });

  it.each([
    [".codex", "a file", "not a plain directory"],
    [".codex", "a link to a folder", "not a plain directory"],
    [".mcp.json", "a folder", "not a plain file"],
    [".mcp.json", "a dangling link", "not a plain file"],
  ] as const)("refuses %s of another program if it is %s", async (name, what, message) => {
    make(name, what);
    const hidden = name === ".codex" ? ({ [name]: "empty folder" } as const) : { [name]: { content: "{}" } };

    await expect(cover(hidden)).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining(message),
    });
  });

  it("has a mount point for each shown file and folder, and copies symlinks", async () => {
    make(".kiro/steering", "a folder");
    make('.kiro/notes, \\ "odd"\n.md', "a file");
    make(".kiro/link", "a link to a folder");

    expect((await cover()).covered[".kiro"]).toHaveLength(2);
    expect(list(".kiro")).toEqual(["link", 'notes, \\ "odd"\n.md', "steering"]);
    expect(readlinkSync(join(root, "skeleton/.kiro/link"))).toBe("/etc");
    expect(statSync(join(root, 'skeleton/.kiro/notes, \\ "odd"\n.md')).size).toBe(0);
  });

  it.each(["a file", "a dangling link", "a link to a folder"] as const)(
    "refuses %s in place of a folder",
    async (what) => {
      for (const name of COVERED) {
        const path = make(name, what);

        await expect(cover()).rejects.toMatchObject({
          code: "WORKSPACE_INVALID",
          message: expect.stringContaining(`"${path}"`),
        });
        rmSync(path);
      }
    },
  );

  it("refuses more entries than can be shown, and reads no more than that", async () => {
    for (let index = 0; index < 65; index++) make(`.kiro/${index}`, "a file");

    await expect(cover()).rejects.toMatchObject({ message: expect.stringContaining("holds more than 64 entries") });
  });

  // Root can read every folder.
  it.skipIf(process.getuid?.() === 0)("refuses an unreadable folder", async () => {
    make(".kiro/agents", "a folder");
    chmodSync(join(workspace, ".kiro"), 0o000);

    await expect(cover()).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
    chmodSync(join(workspace, ".kiro"), 0o700);
  });
});
