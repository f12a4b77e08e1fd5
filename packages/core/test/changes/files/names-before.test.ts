import { describe, expect, it } from "vitest";
import { createNamesBefore } from "../../../src/changes/files/names-before.ts";
import { childPath, ROOT } from "../../../src/walk/folder-path.ts";
import type { Entry } from "../../../src/walk/walk-workspace.ts";

const SRC = childPath(ROOT, Buffer.from("src"));

describe("the names of a workspace before a turn", () => {
  it("come back with their kinds, once, and whatever bytes they have", () => {
    const names = createNamesBefore();
    names.add(ROOT, []);
    names.add(SRC, [toEntry("a\n\u001B", "file"), toEntry("d", "folder")]);
    names.add(SRC, [toEntry("\u00FF", "link"), toEntry("o", "other")]);

    expect(names.take("src")).toEqual(
      new Map([
        ["a\n\u001B", "file"],
        ["d", "folder"],
        ["\u00FF", "link"],
        ["o", "other"],
      ]),
    );
    expect(names.take("src")).toBeUndefined();
    expect([...names.takeRest()]).toEqual([["", new Map()]]);
  });

  it("are forgotten where not all of a folder was read", () => {
    const names = createNamesBefore();
    names.add(ROOT, [toEntry("src", "folder")]);
    names.add(SRC, [toEntry("a", "file")]);

    names.forget(["src"]);
    expect(names.take("src")).toBeUndefined();
    names.forget([""]);
    expect(names.take("")).toBeUndefined();
  });

  it("are not kept beyond a bound, and not in part", () => {
    const names = createNamesBefore(20);
    names.add(ROOT, [toEntry("src", "folder")]);
    names.add(SRC, [toEntry("a", "file")]);
    names.add(SRC, [toEntry("b".repeat(20), "file")]);

    expect(names.isFull()).toBe(true);
    expect(names.take("src")).toBeUndefined();
    expect(names.take("")).toEqual(new Map([["src", "folder"]]));
  });
});

function toEntry(name: string, type: Entry["type"]): Entry {
  return { name: Buffer.from(name, "latin1"), type };
}
