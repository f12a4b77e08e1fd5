import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLargeRooms, findRoomFaults, toRoom, type Rooms } from "./helpers/find-room-faults.ts";
import { listSources, PACKAGES, readSources } from "./helpers/read-sources.ts";

const IN_ROOMS = [
  "core",
  "egress",
  "protocols",
  "store",
  "mcp-manager",
  "copies",
  "sandbox",
  "runner-docker",
  "runner-local",
  "claims",
  "mcp-server",
  "cli",
  "testkit",
];
// The folders of tests that do not mirror a room.
const OF_TESTS = [
  "helpers",
  "fixtures",
  "faults",
  "faults/helpers",
  "interop",
  "interop/languages",
  "kiro",
  "programs",
  // Tests of `sandbox` that need an engine.
  "login",
  "standby",
  "a2a/helpers",
  "acp/fixtures",
  "acp/helpers",
];

describe.each(IN_ROOMS)("the rooms of %s", (name) => {
  const rooms = JSON.parse(readFileSync(join(PACKAGES, name, "rooms.json"), "utf8")) as Rooms;

  it("are those of its table, and import what it allows", () => {
    expect(findRoomFaults(rooms, readSources(join(PACKAGES, name, "src")))).toEqual([]);
  });

  it("are those of its tests", () => {
    const files = listSources(join(PACKAGES, name, "test"));

    expect(findLargeRooms(files)).toEqual([]);
    expect(files.filter((file) => ![...Object.keys(rooms), ...OF_TESTS].includes(toRoom(file)))).toEqual([]);
  });
});

describe("the rules of rooms", () => {
  const rooms: Rooms = {
    low: { about: "", imports: [] },
    high: { about: "", imports: ["low"] },
  };
  const sound = {
    "low/a.ts": "",
    "low/b.ts": `import { a } from "./a.ts";`,
    "low/c.ts": "",
    "high/d.ts": `import type { a } from "../low/a.ts";\nimport { e } from "./e.ts";`,
    "high/e.ts": "",
    "high/f.ts": "",
  };

  it("allow imports of lower rooms", () => {
    expect(findRoomFaults(rooms, new Map(Object.entries(sound)))).toEqual([]);
  });

  it.each([
    ["an import outside the table", { "low/c.ts": `await import("../high/f.ts");` }, /"low" import "high"/],
    ["a room that is not in it", { "new/g.ts": "", "new/h.ts": "", "new/i.ts": "" }, /"new" is not in the table/],
    [
      "a cycle",
      { "high/e.ts": `export * from "./f.ts";`, "high/f.ts": `import "./e.ts";` },
      /high\/e\.ts imports high\/f/,
    ],
    ["a fifteenth file", toFiles("low", 12), /"low" has 15 files/],
    ["a room of two files", { "low/c.ts": undefined }, /"low" has 2 files/],
    ["a third level", toFiles("high/up/there", 3), /lies deeper than 2 levels/],
  ])("forbid %s", (_, planted, fault) => {
    const sources = Object.entries({ ...sound, ...planted }).flatMap(([file, text]) =>
      text === undefined ? [] : [[file, text] as const],
    );

    expect(findRoomFaults(rooms, new Map(sources)).join("\n")).toMatch(fault);
  });

  it("forbid a table that lets a room import a higher one, or that names a room without files", () => {
    const table: Rooms = {
      low: { about: "", imports: ["high"] },
      high: { about: "", imports: [] },
      top: { about: "", imports: [] },
    };

    expect(findRoomFaults(table, new Map(Object.entries(sound)))).toEqual([
      `The table lets "low" import "high", which does not come before it.`,
      `"top" is in the table and has no files.`,
      `high/d.ts imports low/a.ts, and the table does not let "high" import "low".`,
    ]);
  });
});

function toFiles(room: string, count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${room}/x${index}.ts`, ""]));
}
