import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Projection } from "@budgie/core";
import { KIRO_HIDDEN_PATHS, type HiddenPaths } from "@budgie/core/policy";
import { coverHome } from "../../src/files/cover-home.ts";
import { readHomeCovers } from "../../src/files/read-home-covers.ts";
import { beginHome, type BegunHome } from "../helpers/begin-home.ts";

let host: string;
beforeEach(() => void (host = mkdtempSync(join(tmpdir(), "budgie-host-"))));
afterEach(() => rmSync(host, { recursive: true }));

/** Covers the home for a command that shows these files of the host below `.kiro`. */
async function cover({ wire }: BegunHome, shown: readonly string[], hidden: HiddenPaths = KIRO_HIDDEN_PATHS) {
  const projections = shown.map((name): Projection => ({ source: join(host, name), home: `.kiro/${name}` }));
  await coverHome(wire, await readHomeCovers({ projections, hidden }));
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Lists the files below a folder, with their content. */
function list(folder: string): Readonly<Record<string, string>> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  const paths = files.map(({ name, parentPath }) => join(parentPath, name));
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
}

const SETTINGS = { ".kiro/settings/cli.json": '{ "telemetry.enabled": false }\n' };

it("a turn has the host's files as they are now, and nothing that an earlier one made of them", async () => {
  await using place = await beginHome();
  const { home } = place.roots;
  write(host, { "steering/one": "one", "agents/a.json": "{}", "prompts/p": "prompt" });
  await cover(place, ["steering", "agents/a.json", "prompts"]);
  expect(list(home)).toEqual({
    ".kiro/agents/a.json": "{}",
    ".kiro/prompts/p": "prompt",
    ".kiro/steering/one": "one",
    ...SETTINGS,
  });
  await place.runTurn(() => {
    rmSync(join(home, ".kiro/steering/one"));
    write(home, {
      ".kiro/steering/one": "forged",
      ".kiro/steering/planted": "planted",
      ".kiro/agents/planted.json": "planted",
      ".kiro/hooks/planted": "planted",
      ".kiro/own": "the agent's",
    });
  });
  expect(list(home)).toEqual({ ".kiro/own": "the agent's" });
  expect(readdirSync(place.roots.homeHidden)).toEqual([]);

  write(host, { "steering/one": "two" });
  await cover(place, ["steering"]);

  expect(list(home)).toEqual({ ".kiro/own": "the agent's", ".kiro/steering/one": "two", ...SETTINGS });
});

it("what a turn without covers made comes back after one with them", async () => {
  await using place = await beginHome();
  const { home } = place.roots;
  write(host, { "steering/one": "one" });
  write(home, { ".kiro/steering/own": "own", ".kiro/agents/own.json": "own" });
  chmodSync(join(home, ".kiro/steering"), 0o555);

  await cover(place, ["steering"]);
  expect(list(home)).toEqual({ ".kiro/steering/one": "one", ...SETTINGS });
  await place.runTurn();

  expect(list(home)).toEqual({ ".kiro/steering/own": "own", ".kiro/agents/own.json": "own" });
  expect(statSync(join(home, ".kiro/steering")).mode & 0o777).toBe(0o555);
  // Only root could remove it otherwise.
  chmodSync(join(home, ".kiro/steering"), 0o755);
});

it("covers of a turn that did not begin are gone from the next one, and from a home that is packed", async () => {
  await using place = await beginHome();
  write(host, { "steering/one": "one", "prompts/p": "prompt" });

  await cover(place, ["steering"]);
  await cover(place, ["prompts"], {});
  expect(list(place.roots.home)).toEqual({ ".kiro/prompts/p": "prompt" });
  await cover(place, [], {});
  expect(list(place.roots.home)).toEqual({});
  await cover(place, ["prompts"]);
  expect((await place.ask({ purpose: "file", act: "pack", volume: "home" })).bytes.includes("prompt")).toBe(false);
});

it("files at their own paths on the host are there for one turn", async () => {
  await using place = await beginHome();
  const { shown } = place.roots;
  write(host, { "steering/one": "one", "hooks/commit-msg": "a hook" });
  const projections = [{ source: join(host, "hooks"), home: undefined }];
  const showHooks = async () => coverHome(place.wire, await readHomeCovers({ projections }, { shownPath: host }));

  await showHooks();
  expect(list(shown)).toEqual({ "hooks/commit-msg": "a hook" });
  await place.runTurn();
  expect(list(shown)).toEqual({});
  await showHooks();
  await cover(place, ["steering"]);
  expect(list(shown)).toEqual({});
});

it.each([".kiro", ".kiro/steering", ".kiro/steering/deep"])(
  "a link that the agent left at %s is never followed",
  async (planted) => {
    await using place = await beginHome();
    const { home, work } = place.roots;
    write(host, { "steering/deep/one": "one" });
    write(work, { "outside/agents/kept": "kept", "outside/one": "kept", "outside/steering/one": "kept" });
    const before = list(join(work, "outside"));
    const plant = (): void => {
      rmSync(join(home, planted), { recursive: true, force: true });
      mkdirSync(dirname(join(home, planted)), { recursive: true });
      symlinkSync(join(work, "outside"), join(home, planted));
    };
    await cover(place, ["steering"]);
    await place.runTurn(plant);
    const next = cover(place, ["steering"]);

    // A link in the place of a cover is gone with it. One on the way stays, and is refused.
    if (planted === ".kiro") {
      await expect(next).rejects.toMatchObject({
        code: "SESSION_UNUSABLE",
        message: expect.stringContaining('".kiro"'),
      });
    } else {
      await next;
      expect(list(home)).toEqual({ ".kiro/steering/deep/one": "one", ...SETTINGS });
    }
    expect(list(join(work, "outside"))).toEqual(before);
  },
);

it("a cover that the agent moved away, closed or replaced by a file makes way for the next one", async () => {
  await using place = await beginHome();
  const { home } = place.roots;
  write(host, { "steering/one": "one" });
  for (const act of [
    () => renameSync(join(home, ".kiro"), join(home, "moved")),
    () => chmodSync(join(home, ".kiro/steering"), 0),
    () => {
      rmSync(join(home, ".kiro/steering"), { recursive: true });
      write(home, { ".kiro/steering": "a file" });
    },
  ]) {
    await cover(place, ["steering"]);
    await place.runTurn(act);
  }

  await cover(place, ["steering"]);

  expect(readFileSync(join(home, ".kiro/steering/one"), "utf8")).toBe("one");
  expect(existsSync(join(home, "moved/agents"))).toBe(true);
});

it("covers are refused while a turn runs, and with a list or records that are none", async () => {
  await using place = await beginHome();
  await place.runTurn();
  const ask = async (listBytes: number, input: string) =>
    (await place.ask({ purpose: "file", act: "cover", listBytes }, Buffer.from(input))).last;

  for (const [listBytes, input] of [
    [0, ""],
    [2 ** 30, "[]"],
    [3, "[]"],
    [2, "{}"],
    [7, '["../"]'],
    [9, '["/home"]'],
  ] as const)
    expect(await ask(listBytes, input)).toMatchObject({ error: { code: "INPUT_INVALID" } });
  expect(await ask(5, '["a"]')).toMatchObject({ error: { code: "RUNNER_UNAVAILABLE" } });
  await place.runTurn(() => expect(cover(place, [])).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" }));
});
