import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findNesting } from "../../src/policy/nesting.ts";

const NO_FILE = "/none";

describe("findNesting", () => {
  it("treats a budgie without a mark as the outermost", () => {
    expect(findNesting({ PATH: "/bin" }, undefined, NO_FILE)).toEqual({ level: 0, most: 1 });
    expect(findNesting({ BUDGIE_MAX_DEPTH: "3" }, 3, NO_FILE)).toEqual({ level: 0, most: 3 });
  });

  it("reads its own environment", () => {
    expect(findNesting({ BUDGIE_DEPTH: "2", BUDGIE_MAX_DEPTH: "3" }, undefined, NO_FILE)).toEqual({
      level: 2,
      most: 3,
    });
  });

  it("reads the session of the call above it, if that is one and there is a call above", () => {
    const rootOf = (BUDGIE_ROOT_SESSION: string, marks = { BUDGIE_DEPTH: "1" }): unknown =>
      findNesting({ ...marks, BUDGIE_ROOT_SESSION }, undefined, NO_FILE).rootSession;

    expect(rootOf("5e3b3a0c-6c1d-4b7a-9d0e-2f6f3a0f8c11")).toBe("5e3b3a0c-6c1d-4b7a-9d0e-2f6f3a0f8c11");
    expect(["", "x", "a".repeat(65), "5e3b\n"].map((text) => rootOf(text))).toEqual(Array(4).fill(undefined));
    expect(findNesting({ BUDGIE_ROOT_SESSION: "5e3b" }, undefined, NO_FILE).rootSession).toBeUndefined();
  });

  it("lets a nested budgie lower the outermost budgie's limit, and never raise it", () => {
    const env = { BUDGIE_DEPTH: "1", BUDGIE_MAX_DEPTH: "3" };

    expect([99, 2].map((wanted) => findNesting(env, wanted, NO_FILE).most)).toEqual([3, 2]);
    expect(findNesting({ BUDGIE_DEPTH: "1" }, 99, NO_FILE).most).toBe(1);
  });

  it("reads the sandbox's file if its environment was cleared", () => {
    expect(findNesting({}, 99, createFile("BUDGIE_DEPTH=2\nBUDGIE_MAX_DEPTH=3\n"))).toEqual({ level: 2, most: 3 });
  });

  it("uses the deepest level and the lowest limit of both", () => {
    const file = createFile("BUDGIE_DEPTH=2\nBUDGIE_MAX_DEPTH=9\n");

    expect(findNesting({ BUDGIE_DEPTH: "0", BUDGIE_MAX_DEPTH: "99" }, 99, file)).toEqual({ level: 2, most: 9 });
    expect(findNesting({ BUDGIE_DEPTH: "3", BUDGIE_MAX_DEPTH: "2" }, 99, file)).toEqual({ level: 3, most: 2 });
  });

  it.each(["", "-1", "0x1", "1e9", "99999", "one", " 1"])("treats the malformed level %j as too deep", (level) => {
    expect(findNesting({ BUDGIE_DEPTH: level }, 99, NO_FILE).level).toBe(Infinity);
  });

  it("treats a malformed limit as zero", () => {
    expect(findNesting({ BUDGIE_DEPTH: "1", BUDGIE_MAX_DEPTH: "many" }, 99, NO_FILE).most).toBe(0);
  });
});

function createFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "budgie-nesting-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "depth");
  writeFileSync(file, text);
  return file;
}
