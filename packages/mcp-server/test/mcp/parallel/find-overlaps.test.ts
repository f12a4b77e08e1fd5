import type { Change, StoredSet } from "@budgie/copies/sets";
import { describe, expect, it } from "vitest";
import { findOverlaps } from "../../../src/mcp/parallel/find-overlaps.ts";

const file = (digest: string): Change["after"] & object => ({
  kind: "file",
  executable: false,
  size: 1,
  digest,
  kept: true,
});

function find(sets: Readonly<Record<string, readonly Change[]>>) {
  const stored = Object.entries(sets).map(([id, changes]) => ({ id, set: { changes } as unknown as StoredSet["set"] }));
  return findOverlaps(stored);
}

describe("findOverlaps", () => {
  it("names the paths that several sets change differently, and none that they change alike or alone", () => {
    const found = find({
      one: [{ path: "a", after: file("1") }, { path: "same", after: file("9") }, { path: "own" }],
      two: [
        { path: "a", after: file("2") },
        { path: "same", after: file("9") },
      ],
      three: [{ path: "a" }, { path: "other", after: { kind: "folder" } }],
    });

    expect(found).toEqual({ overlaps: [{ path: "a", changeIds: ["one", "two", "three"] }], more: 0 });
  });

  it("names a path in a folder that another set removes or replaces, and not one in a folder that it adds", () => {
    const found = find({
      one: [
        { path: "gone" },
        { path: "new", after: { kind: "folder" } },
        { path: "link", after: { kind: "link", target: "x" } },
      ],
      two: [
        { path: "gone/a", after: file("1") },
        { path: "link/deep/b", after: file("1") },
        { path: "new/c", after: file("1") },
      ],
    });

    expect(found.overlaps.map(({ path }) => path)).toEqual(["gone/a", "link/deep/b"]);
  });

  it("escapes paths, names the first 20, and counts the rest", () => {
    const changesOf = (digest: string): readonly Change[] =>
      Array.from({ length: 25 }, (_, index) => ({ path: `${index}\n\u202e`, after: file(digest) }));

    const { more, overlaps } = find({ one: changesOf("1"), two: changesOf("2") });

    expect([overlaps.length, more]).toEqual([20, 5]);
    expect(overlaps[0]?.path).not.toMatch(/[\n\u202e]/);
  });
});
