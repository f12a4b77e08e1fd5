import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Projection } from "@budgie/core";
import { KIRO_HIDDEN_PATHS, type HiddenPaths } from "@budgie/core/policy";
import { readHomeCovers } from "../../src/files/read-home-covers.ts";

let root: string;
beforeEach(() => void (root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-covers-")))));
afterEach(() => rmSync(root, { recursive: true }));

function make(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

async function listen(path: string): Promise<AsyncDisposable> {
  const server = createServer().listen(path);
  await once(server, "listening");
  return { [Symbol.asyncDispose]: async () => void (await once(server.close(), "close")) };
}

/** Reads the covers of a command, with the content of each file by its path. */
async function read(projections: readonly Projection[], hidden: HiddenPaths = {}) {
  const { entries, paths } = await readHomeCovers({ projections, hidden });
  const shown = entries.map(({ content, entry }) => {
    if (entry.kind === "file") return [entry.path, Buffer.from(content as Buffer).toString()] as const;
    return [entry.path, entry.kind === "link" ? { link: entry.target } : "folder"] as const;
  });
  return { paths, shown: Object.fromEntries(shown), modes: entries.map(({ entry }) => "mode" in entry && entry.mode) };
}

const toProjection = (source: string, home: string | undefined = `.kiro/${source}`): Projection => ({
  source: join(root, source),
  home,
});

describe("projections", () => {
  it("are files and folders of the home, which the agent does not change by mistake", async () => {
    make({ "steering/one.md": "one", "steering/deep/two.md": "two", "agent.json": "{}" });
    chmodSync(join(root, "steering/deep/two.md"), 0o755);

    const covers = await read([toProjection("steering", ".kiro/steering/"), toProjection("agent.json", "agent.json")]);

    expect(covers).toEqual({
      paths: [".kiro/steering", "agent.json"],
      shown: {
        "agent.json": "{}",
        ".kiro/steering": "folder",
        ".kiro/steering/deep": "folder",
        ".kiro/steering/deep/two.md": "two",
        ".kiro/steering/one.md": "one",
      },
      modes: [0o444, 0o755, 0o755, 0o555, 0o444],
    });
  });

  it("are left out if they are missing, dangling, no files, or have no path in the home", async () => {
    make({ file: "" });
    symlinkSync("nowhere", join(root, "dangling"));
    await using _server = await listen(join(root, "socket"));

    const all = ["missing", "dangling", "socket"].map((name) => toProjection(name));

    expect(await read([...all, { source: join(root, "file"), home: undefined }])).toEqual({
      paths: [],
      shown: {},
      modes: [],
    });
  });

  it("follow a link to themselves, and keep those inside as links", async () => {
    make({ "real/one": "one", secret: "secret" });
    symlinkSync("real", join(root, "linked"));
    symlinkSync(join(root, "secret"), join(root, "real/out"));
    await using _server = await listen(join(root, "real/socket"));
    writeFileSync(Buffer.from([...Buffer.from(`${root}/real/`), 0xff]), "no text");
    writeFileSync(join(root, "real/line\nbreak"), "");

    expect((await read([toProjection("linked")])).shown).toEqual({
      ".kiro/linked": "folder",
      ".kiro/linked/one": "one",
      ".kiro/linked/out": { link: join(root, "secret") },
    });
  });

  it("leave out other file systems and devices", async () => {
    expect(existsSync("/dev/shm")).toBe(true);

    const { shown } = await read([{ source: "/dev", home: "dev" }]);

    expect(shown).toMatchObject({ dev: "folder", "dev/fd": { link: "/proc/self/fd" } });
    expect(Object.keys(shown).filter((path) => /^dev\/(?:shm|null|tty)/.test(path))).toEqual([]);
  });

  it("lie over each other like mounts: the first at a path, and the deeper ones", async () => {
    make({ "a/x": "of a", "a/y": "of a", "a/sub/gone": "of a", "b/x": "of b", "deep/x": "deeper" });

    const { paths, shown } = await read([
      toProjection("deep/x", "in/x"),
      toProjection("a", "in"),
      toProjection("b", "in/"),
      toProjection("b", "in/sub"),
    ]);

    expect(paths).toEqual(["in"]);
    expect(shown).toEqual({ in: "folder", "in/x": "deeper", "in/y": "of a", "in/sub": "folder", "in/sub/x": "of b" });
    const below = read([toProjection("a/x", "in"), toProjection("b", "in/b")]);
    await expect(below).rejects.toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining('"in/b"') });
  });

  it.each([
    ["a path outside the home", () => ({ source: root, home: "../x" }), { code: "CONFIG_INVALID", says: '"../x"' }],
    [
      "none in the home",
      () => ({ source: root, home: undefined, isRequired: true }),
      { code: "CONFIG_INVALID", says: "mounts" },
    ],
    [
      "nothing there",
      () => ({ ...toProjection("none"), isRequired: true }),
      { code: "CONFIG_INVALID", says: "is missing" },
    ],
    [
      "a link there",
      () => ({ ...toProjection("link"), isRequired: true }),
      { code: "WORKSPACE_INVALID", says: "was exchanged" },
    ],
  ])("are refused with %s", async (_, toOne, { code, says }) => {
    symlinkSync("/", join(root, "link"));

    await expect(read([toOne()])).rejects.toMatchObject({ code, message: expect.stringContaining(says) });
  });
});

describe("projections at their own path", () => {
  const readShown = async (projections: readonly Projection[], shownPath = root) => {
    const { entries, shown } = await readHomeCovers({ projections }, { shownPath });
    return [entries, shown].map((all) => all.map(({ entry }) => entry.path));
  };

  it("are shown below the Pod's path for them, also those that have none in the home", async () => {
    make({ ".kiro/p.md": "prompt", "hooks/commit-msg": "", "schemas/one": "" });

    const projections = [
      toProjection(".kiro/p.md", ".kiro/agents/p.md"),
      { source: `${join(root, "hooks")}/`, home: undefined },
      { source: join(root, "schemas"), home: undefined, isRequired: true },
      { source: "/etc/hostname", home: undefined },
    ];

    expect(await readShown(projections)).toEqual([
      [".kiro/agents/p.md"],
      ["hooks", "hooks/commit-msg", "schemas", "schemas/one", ".kiro/p.md"],
    ]);
  });

  it("are refused if they are required and lie elsewhere", async () => {
    make({ "home/x": "", homeless: "" });
    for (const source of [join(root, "homeless"), join(root, "home")]) {
      const asked = readShown([{ source, home: undefined, isRequired: true }], join(root, "home"));
      await expect(asked).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(`"${source}" .* but what is below "${join(root, "home")}"`),
      });
    }
  });
});

describe("hidden folders of the home", () => {
  it("show only their cover's files and projections", async () => {
    make({ "agents/own.json": "{}" });

    const { paths, shown } = await read([toProjection("agents/own.json", ".kiro/agents/own.json")], KIRO_HIDDEN_PATHS);

    expect(paths.toSorted()).toEqual(
      ["agents", "hooks", "settings", "workflows", "workspace-roots"].map((name) => `.kiro/${name}`),
    );
    expect(Object.entries(shown).filter(([, text]) => text !== "folder")).toEqual([
      [".kiro/settings/cli.json", '{ "telemetry.enabled": false }\n'],
      [".kiro/agents/own.json", "{}"],
    ]);
  });

  it("are the user's own if a projection shows them whole", async () => {
    make({ "agents/own.json": "{}" });

    const { shown } = await read([toProjection("agents")], { "~/.kiro/agents": { files: { note: "budgie's" } } });

    expect(shown).toEqual({ ".kiro/agents": "folder", ".kiro/agents/own.json": "{}" });
  });
});
