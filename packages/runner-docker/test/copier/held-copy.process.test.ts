import { chmodSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { utimesSync, writeFileSync } from "node:fs";
import { open, readFile, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished, vi } from "vitest";
import type { FoundEntry } from "@budgie/core/copies";
import { DEFAULT_ACCESS, type Access } from "@budgie/core/policy";
import { findDisk } from "@budgie/core/walk";
import { isUncovered, listFolder, openMount } from "@budgie/sandbox/proc";
import { createHeldCopy } from "../../src/copier/held-copy.ts";

const UNREAD = "(as filled)";

it("A held copy is read only where it changed, whatever an agent does to hide that", async () => {
  const { copy, folder, path } = await openFilled([
    "same",
    "edited",
    "linked",
    "moved",
    "target",
    "b/in",
    "c/in",
    "d/e/in",
  ]);
  const { atime, mtime } = statSync(path("edited"));
  writeFileSync(path("edited"), "EDITED");
  utimesSync(path("edited"), atime, mtime);
  linkSync(path("linked"), path("second"));
  renameSync(path("moved"), path("target"));
  // Nothing in them has new times.
  renameSync(path("b"), path("x"));
  renameSync(path("c"), path("b"));
  renameSync(path("x"), path("c"));
  renameSync(path("d/e"), path("d/f"));
  symlinkSync("/etc/passwd", path("link"));
  utimesSync(folder, atime, mtime);

  expect(await readAll(copy)).toEqual({
    // The names in the copy's own folder changed.
    same: "same",
    edited: "EDITED",
    linked: "linked",
    second: "linked",
    target: "moved",
    b: "folder",
    "b/in": "c/in",
    c: "folder",
    "c/in": "b/in",
    d: "folder",
    "d/f": "folder",
    "d/f/in": "d/e/in",
    link: "-> /etc/passwd",
  });
});

it("A held copy leaves out the content of files that are as the fill made them, unless somebody needs it", async () => {
  const files = ["same", "mode", "b/same", "b/edited", "unknown"];
  const { copy, path } = await openFilled(files);
  chmodSync(path("mode"), 0o600);
  writeFileSync(path("b/edited"), "EDITED");

  expect(await readAll(copy, (name) => name !== "unknown")).toEqual({
    same: UNREAD,
    mode: "mode",
    b: "folder",
    "b/same": UNREAD,
    "b/edited": "EDITED",
    unknown: "unknown",
  });
});

it("A held copy is read in another way once it was read, after another fill, and where it cannot be listed", async () => {
  const list = vi.fn(listFolder);
  const { copy, hold } = await openFilled(["a"], { list });
  const read = () => copy.read({ take: () => true, readAgain: async () => undefined });
  expect(await readAll(copy)).toEqual({ a: UNREAD });
  expect(await read()).toBeUndefined();

  await hold();
  list.mockResolvedValueOnce(undefined);
  expect(await read()).toBeUndefined();
  expect(list).toHaveBeenCalledTimes(2);

  copy.setFilled(false);
  await hold();
  expect(await read()).toBeUndefined();
});

it("A copy is not held for a turn that may only read it, and is for one after that", async () => {
  const { copy, hold } = await openFilled(["a"]);

  await hold("ro-copy");
  expect(await readAll(copy)).toEqual({});
  await hold();
  expect(await readAll(copy)).toEqual({ a: UNREAD });
});

it("A held copy is read in another way once the clock was set back", async () => {
  const { copy } = await openFilled(["a"]);
  const now = Date.now();
  const clock = vi.spyOn(Date, "now").mockReturnValue(now - 60_000);
  onTestFinished(() => clock.mockRestore());

  expect(await copy.read({ take: () => true, readAgain: async () => undefined })).toBeUndefined();
});

it.each([
  ["a disk", ["disk"], true],
  ["a file server", [undefined], false],
  ["an overlay over a disk", ["overlay", "disk"], true],
  ["an overlay over tmpfs", ["overlay", undefined], false],
] as const)("Nothing but the times of a disk tells what changed: a copy on %s", async (_, kinds, isHeld) => {
  const left = [...kinds];
  const { copy } = await openFilled(["a"], { find: async () => left.shift() });

  expect(await readAll(copy)).toEqual(isHeld ? { a: UNREAD } : {});
  expect(left).toEqual([]);
});

const shared = await statfs("/dev/shm").catch(() => undefined);

it.skipIf(shared?.type !== 0x01021994)("A copy on tmpfs is read in another way", async () => {
  const { copy } = await openFilled(["a"], { find: findDisk }, "/dev/shm");

  expect(await readAll(copy)).toEqual({});
});

it("A folder is held only where it is mounted itself, and not while something covers it", async () => {
  const { path, root } = await openFilled(["elsewhere/in"]);
  symlinkSync("elsewhere", path("../link"));
  renameSync(path("elsewhere"), path("../elsewhere"));
  await using slash = await open("/");

  // Its own mount point is "/copy".
  expect(await openMount(root, "/elsewhere")).toBeUndefined();
  await expect(openMount(root, "/link")).rejects.toThrow();
  expect(await isUncovered(slash, ["proc"])).toBe(false);
  expect(await isUncovered(slash, ["nonexistent"])).toBe(true);
});

/** Opens a copy that was filled with files, each of which has its path as its content, and is older than a moment. */
async function openFilled(files: readonly string[], looking: Parameters<typeof createHeldCopy>[1] = {}, on = tmpdir()) {
  const top = mkdtempSync(join(on, "budgie-held-"));
  onTestFinished(() => rmSync(top, { recursive: true }));
  const folder = join(top, "copy");
  for (const name of [folder, join(top, "home")]) mkdirSync(name);
  const path = (name: string): string => join(folder, name);
  for (const name of files) {
    mkdirSync(join(path(name), ".."), { recursive: true });
    writeFileSync(path(name), name);
  }
  const filledMs = Date.now();
  await vi.waitFor(() => expect(Date.now() - filledMs).toBeGreaterThan(100));
  const root = await toRoot(top);
  const copy = createHeldCopy(true, { find: async () => "disk", ...looking });
  onTestFinished(() => copy.letGo());
  const hold = (workspace: Access["workspace"] = "copy") =>
    copy.hold(
      { root, workspacePath: "/copy" },
      { copyCovers: [], options: { access: { ...DEFAULT_ACCESS, workspace } } },
    );
  copy.setFilled(true);
  await hold();
  return { copy, folder, hold, path, root };
}

/** Returns the root of a container that has its folders `copy` and `home` mounted. */
async function toRoot(path: string) {
  await using opened = await open(path);
  const id = /^mnt_id:\s*(\d+)$/m.exec(await readFile(`/proc/self/fdinfo/${opened.fd}`, "utf8"))?.[1];
  return {
    path,
    readMounts: async () => ["copy", "home"].map((name) => `${id} 1 8:1 / /${name} rw - ext4 /dev/sda rw\n`).join(""),
    hasEnded: async () => false,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function readAll(copy: ReturnType<typeof createHeldCopy>, isKnown: (path: string) => boolean = () => true) {
  const all: Record<string, string> = {};
  const take = ({ path }: { readonly path: string }): boolean => {
    if (isKnown(path)) all[path] = UNREAD;
    return isKnown(path);
  };
  const found = await copy.read({ take, readAgain: async () => undefined });
  for await (const entry of found ?? []) all[entry.entry.path] = await show(entry);
  return all;
}

async function show({ content, entry }: FoundEntry): Promise<string> {
  if (entry.kind === "link") return `-> ${entry.target}`;
  if (entry.kind !== "file") return entry.kind;
  return content === undefined ? "" : text(content);
}
