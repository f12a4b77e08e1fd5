import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, HomeFile } from "@budgie/core";
import { checkFilesBy } from "@budgie/core/text";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { isFile, type ArchiveEntry, type ArchiveFile } from "../../src/home/home-archive.ts";
import { createHomeSeeds, type HomeSeeds } from "../../src/home/home-seeds.ts";

const root = mkdtempSync(join(tmpdir(), "budgie-seeds-"));
afterAll(() => rmSync(root, { recursive: true }));

const MEBIBYTE = 2 ** 20;
const TEXT: HomeFile = { path: ".agent/settings", content: "x" };

function toHostFile(name: string, content: string, path = name): HomeFile {
  const file = join(root, name);
  writeFileSync(file, content);
  return { path, content: { file } };
}

/** Returns what a command has written, also if that fails with `error`. */
async function fill(seeds: HomeSeeds, parts: Partial<Command>, error?: Error): Promise<readonly ArchiveEntry[]> {
  let written: readonly ArchiveEntry[] = [];
  const filled = seeds.fill({ projections: [], ...parts }, async (entries) => {
    written = entries;
    if (error !== undefined) throw error;
  });
  await filled.catch((cause: unknown) => {
    if (cause !== error) throw cause;
  });
  return written;
}

function toText(content: ArchiveFile["content"]): string {
  return Buffer.isBuffer(content) ? content.toString() : content.path;
}

it("writes a file until that succeeds, and then only when its content has changed", async () => {
  const seeds = createHomeSeeds();
  const load = async (files: readonly HomeFile[], error?: Error) => {
    const entries = await fill(seeds, { home: files }, error);
    return entries.filter(isFile).map(({ content, mode, path }) => [path, mode, toText(content)]);
  };
  const both = [toHostFile("token", "one"), TEXT] as const;

  const unwritten = await load(both, new Error("The engine is gone."));
  const first = await load(both);
  const second = await load(both);
  const third = await load([toHostFile("token", "two"), TEXT]);

  const settings = ["/home/agent/.agent/settings", 0o600, "x"];
  expect(unwritten).toEqual([["/home/agent/token", 0o600, "one"], settings]);
  expect(first).toEqual(unwritten);
  expect(second).toEqual([]);
  expect(third).toEqual([["/home/agent/token", 0o600, "two"]]);
});

it("clears the copies of the host's files, also of a command that no longer runs, and no text", async () => {
  const seeds = createHomeSeeds();
  await fill(seeds, { home: [toHostFile("old", "x", ".agent/old"), TEXT] });
  await fill(seeds, { home: [toHostFile("new", "y")] }, new Error("The engine is gone."));

  const cleared = seeds.toCleared().map(({ content, path }) => [path, toText(content)]);

  expect(cleared).toEqual([
    ["/home/agent/.agent/old", ""],
    ["/home/agent/new", ""],
  ]);
});

mkdirSync(join(root, "folder"));
it.each<[what: string, home: readonly HomeFile[], message: RegExp]>([
  ["a path outside of the home", [{ path: "../x", content: "" }], /"\.\.\/x" is not the path of a file in a home/],
  [
    "a relative path on the host",
    [{ path: "x", content: { file: "auth.json" } }],
    /"auth\.json" is not an absolute path/,
  ],
  ["a missing file", [{ path: "x", content: { file: join(root, "none") } }], /none".* does not exist\. Log in/],
  ["a folder", [{ path: "x", content: { file: join(root, "folder") } }], /folder".* is not a file/],
  ["a device", [{ path: "x", content: { file: "/dev/null" } }], /"\/dev\/null".* is not a file/],
  ["a path that is named twice", [TEXT, TEXT], /settings" is named twice/],
  ["a file in place of another's folder", [TEXT, { path: ".agent", content: "" }], /agent\/\.agent" is named twice/],
  ["65 files", Array.from({ length: 65 }, (_, n) => ({ path: `${n}`, content: "" })), /brings 65 files.* 64 are/],
  [
    "more than 4 MiB together",
    [toHostFile("large", "a".repeat(4 * MEBIBYTE)), TEXT],
    /With "\.agent\/settings", the files for one home have more than 4 MiB/,
  ],
  ["a file of more than 4 MiB", [toHostFile("larger", "a".repeat(5 * MEBIBYTE))], /With ".*larger".* more than 4 MiB/],
])("refuses %s", async (_what, home, message) => {
  await expect(fill(createHomeSeeds(), { home })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringMatching(message),
  });
});

it("refuses a file that a folder of the home would hide", async () => {
  const hidden = { "~/.agent": { files: { settings: "budgie's" } }, "~/.agents": "empty folder" } as const;

  await expect(fill(createHomeSeeds(), { home: [TEXT], hidden })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining('".agent/settings" lies in a folder of the home that a sandbox hides'),
  });
  expect(await fill(createHomeSeeds(), { home: [{ ...TEXT, path: ".agents-too/x" }], hidden })).toHaveLength(1);
});

it("refuses a link to a file that an agent may have put there, and sees what was read", async () => {
  const target = join(root, "other-users-key");
  const link: HomeFile = { path: "login", content: { file: join(root, "login") } };
  writeFileSync(target, "key");
  symlinkSync(target, join(root, "login"));
  const checked: string[] = [];
  checkFilesBy({
    check(path, bytes) {
      checked.push(`${path}: ${String(bytes)}`);
      throw new Error("agents could write there");
    },
  });
  onTestFinished(() => checkFilesBy(undefined));

  await expect(fill(createHomeSeeds(), { home: [link] })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: `"${join(root, "login")}", which the agent needs in its home, cannot be used: agents could write there.`,
  });
  expect(checked).toEqual([`${target}: key`]);
});

it("writes 64 files and 4 MiB", async () => {
  const small = Array.from({ length: 63 }, (_, n) => ({ path: `${n}`, content: "a" }));
  const rest = toHostFile("rest", "a".repeat(4 * MEBIBYTE - 63));

  expect(await fill(createHomeSeeds(), { home: [...small, rest] })).toHaveLength(64);
});

it("makes the parents of a command's mounts in the home once", async () => {
  const seeds = createHomeSeeds();
  const command: Partial<Command> = {
    projections: [
      { source: "/there", home: "tool/settings/one.json" },
      { source: "/there", home: undefined },
    ],
    hidden: { ".tool": "empty folder", "~/tool/agents": "empty folder", "~/top": "empty folder" },
  };

  const unwritten = await fill(seeds, command, new Error("The engine is gone."));
  const first = await fill(seeds, command);
  const second = await fill(seeds, command);

  const folders = ["/home/agent/tool", "/home/agent/tool/settings"].map((path) => ({ path, content: "folder" }));
  expect([unwritten, first, second]).toEqual([folders, folders, []]);
});
