import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findNesting } from "../../src/server/find-nesting.ts";

const NONE = { proc: "/none", mark: "/none" };

describe("findNesting", () => {
  it("takes a budgie that nobody marked for the outermost", () => {
    const proc = createProc({ self: [40, 40, 40], 40: [1, 40, 40], 1: [0, 1, 1] });

    expect(findNesting({ PATH: "/bin" }, undefined, proc)).toEqual({ own: 0, most: 1 });
    expect(findNesting({ BUDGIE_MAX_DEPTH: "3" }, 3, proc)).toEqual({ own: 0, most: 3 });
  });

  it("takes what its own environment says", () => {
    expect(findNesting({ BUDGIE_DEPTH: "2", BUDGIE_MAX_DEPTH: "3" }, undefined, NONE)).toEqual({ own: 2, most: 3 });
  });

  it("lets nobody below raise the outermost budgie's limit, and anybody lower it", () => {
    const env = { BUDGIE_DEPTH: "1", BUDGIE_MAX_DEPTH: "3" };

    expect([99, 2].map((wanted) => findNesting(env, wanted, NONE).most)).toEqual([3, 2]);
    expect(findNesting({ BUDGIE_DEPTH: "1" }, 99, NONE).most).toBe(1);
  });

  it.each([
    ["an ancestor", { self: [40, 40, 40], 40: [30, 40, 40], 30: [1, 30, 30, "A=b", "BUDGIE_DEPTH=2"] }],
    ["the leader of its group", { self: [1, 30, 1], 30: [1, 30, 30, "BUDGIE_DEPTH=2"] }],
    ["the leader of its session", { self: [1, 40, 30], 30: [1, 30, 30, "BUDGIE_DEPTH=2"] }],
    ["an ancestor of its session's leader", { self: [1, 40, 40], 40: [30, 40, 40], 30: [1, 1, 1, "BUDGIE_DEPTH=2"] }],
  ] as const)("finds the mark of %s when its own environment was cleared", (_who, processes) => {
    expect(findNesting({}, 5, createProc(processes))).toEqual({ own: 2, most: 1 });
  });

  it("finds in a sandbox what a file says that no agent can change, whatever became of all processes", () => {
    const { proc } = createProc({ self: [7, 7, 7], 7: [1, 7, 7], 1: [0, 1, 1] });
    const mark = join(proc, "depth");
    writeFileSync(mark, "BUDGIE_DEPTH=2\nBUDGIE_MAX_DEPTH=3\n");

    expect(findNesting({}, 99, { proc, mark })).toEqual({ own: 2, most: 3 });
  });

  it("believes the deepest mark, and the lowest limit", () => {
    const proc = createProc({
      self: [40, 40, 40],
      40: [30, 40, 40, "BUDGIE_DEPTH=2", "BUDGIE_MAX_DEPTH=9"],
      30: [1, 30, 30, "BUDGIE_DEPTH=1", "BUDGIE_MAX_DEPTH=2"],
    });

    expect(findNesting({ BUDGIE_DEPTH: "0", BUDGIE_MAX_DEPTH: "99" }, 99, proc)).toEqual({ own: 2, most: 2 });
  });

  it("takes more ancestors than anybody meant for too deep, since a mark may hide behind them", () => {
    const chain = Array.from({ length: 1200 }, (_, index): [number, Process] => [
      1200 - index,
      [1199 - index, 1200 - index, 1200 - index],
    ]);
    const proc = createProc({ self: [1200, 1200, 1200], ...Object.fromEntries(chain), 1: [0, 1, 1, "BUDGIE_DEPTH=1"] });

    expect(findNesting({}, 99, proc).own).toBe(Infinity);
  });

  it.each(["", "-1", "0x1", "1e9", "99999", "one", " 1"])("takes the malformed depth %j for too deep", (depth) => {
    expect(findNesting({ BUDGIE_DEPTH: depth }, 99, NONE).own).toBe(Infinity);
  });

  it("takes a malformed limit for none at all", () => {
    expect(findNesting({ BUDGIE_DEPTH: "1", BUDGIE_MAX_DEPTH: "many" }, 99, NONE).most).toBe(0);
  });

  it("gets along with processes that name each other, that are gone, and whose name looks like fields", () => {
    const places = createProc({ self: [40, 41, 42], 40: [41, 40, 40], 41: [40, 41, 77, "BUDGIE_DEPTH=1"] });
    mkdirSync(join(places.proc, "42"));
    writeFileSync(join(places.proc, "42", "stat"), "42 (a) S 9 9) R 40 43 44 0");

    expect(findNesting({}, undefined, places).own).toBe(1);
  });
});

type Process = readonly [parent: number, group: number, session: number, ...environment: string[]];

/** Makes a `/proc` with these processes, and no file of a sandbox unless given. */
function createProc(processes: Readonly<Record<string, Process>>) {
  const proc = mkdtempSync(join(tmpdir(), "budgie-proc-"));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  for (const [pid, [parent, group, session, ...environment]] of Object.entries(processes)) {
    mkdirSync(join(proc, pid));
    writeFileSync(join(proc, pid, "stat"), `${pid} (node) S ${parent} ${group} ${session} 0 -1 4194304`);
    writeFileSync(join(proc, pid, "environ"), environment.map((line) => `${line}\0`).join(""));
  }
  return { proc, mark: "/none" };
}
