import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { compareSnapshots, takeSnapshot } from "../../src/changes/snapshot.ts";
import { NO_GIT_PATHS } from "../../src/changes/find-git-paths.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const BOUNDS = { entries: 1000, timeMs: 5000, read: { bytes: 1000, files: 1000, values: 1000 } };

describe("takeSnapshot", () => {
  it("stops at the limit of entries, and names the folders it did not search", async () => {
    const root = createPlace();

    const { notes, unread } = await takeSnapshot(root, { bounds: { ...BOUNDS, entries: 2 } });

    expect([...notes.keys()]).toEqual([".envrc"]);
    expect([...unread.keys()]).toEqual(["folder"]);
  });

  it("stops at the time limit", async () => {
    const { unread } = await takeSnapshot(createPlace(), { bounds: { ...BOUNDS, timeMs: 0 } });

    expect([...unread.keys()]).toEqual([""]);
  });

  it.each([
    ["bytes", { ...BOUNDS.read, bytes: 0 }],
    ["files", { ...BOUNDS.read, files: 0 }],
  ])("tells files apart by size and times when it may not read any more %s", async (_what, read) => {
    const root = createPlace();
    const bounds = { ...BOUNDS, read };
    const [whole, part, again] = [
      await takeSnapshot(root),
      await takeSnapshot(root, { bounds }),
      await takeSnapshot(root, { bounds }),
    ];

    writeFileSync(join(root, ".envrc"), "good");

    const changes = compareSnapshots(part, await takeSnapshot(root, { bounds }));
    expect(changes).toMatchObject([{ path: ".envrc", effect: "plain" }]);
    expect([compareSnapshots(whole, part), compareSnapshots(part, again)]).toEqual([[], []]);
  });

  it("never fails, even without a workspace", async () => {
    const { notes, unread } = await takeSnapshot("/nowhere/at/all");

    expect({ notes: notes.size, unread: unread.size }).toEqual({ notes: 0, unread: 0 });
  });

  // Root may read every folder.
  it.skipIf(process.getuid?.() === 0)("reports a folder that it may not read", async () => {
    const root = createPlace();
    chmodSync(join(root, "folder"), 0o000);

    const { unread } = await takeSnapshot(root);

    chmodSync(join(root, "folder"), 0o755);
    expect([...unread.keys()]).toEqual(["folder"]);
  });
});

describe("compareSnapshots", () => {
  it("reports nothing as added or removed if one of the two did not search there", async () => {
    const root = createPlace();
    const [whole, part] = [await takeSnapshot(root), await takeSnapshot(root, { bounds: { ...BOUNDS, entries: 2 } })];
    writeFileSync(join(root, ".envrc"), "evil");
    const later = await takeSnapshot(root, { bounds: { ...BOUNDS, entries: 2 } });

    expect([compareSnapshots(whole, part), compareSnapshots(part, whole)]).toEqual([[], []]);
    expect(compareSnapshots(whole, later)).toMatchObject([{ path: ".envrc", effect: "plain" }]);
  });

  it("checks a folder once, however many files an agent created deep in it", () => {
    const unread = new Map([["elsewhere", "no time"]]);
    const asked = vi.spyOn(unread, "has");
    const folder = `.vscode/${"a/".repeat(60)}`;
    const fingerprint = { what: "file", hash: undefined, state: "", ctimeMs: 0 };
    const notes = new Map(
      Array.from({ length: 1000 }, (_, index) => [folder + index, { fingerprint, effect: "plain" as const }]),
    );

    const before = { notes: new Map(), unread, gitPaths: NO_GIT_PATHS };

    expect(compareSnapshots(before, { notes, unread: new Map(), gitPaths: NO_GIT_PATHS })).toHaveLength(1000);
    expect(asked.mock.calls.length).toBeLessThan(2000);
  });
});

function createPlace(): string {
  const root = createTemporaryFolder();
  mkdirSync(join(root, "folder"));
  writeFileSync(join(root, ".envrc"), "good", { mode: 0o644 });
  writeFileSync(join(root, "folder/.envrc"), "good");
  return root;
}
