import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { ROOT, childPath, toPathKey } from "../../src/walk/folder-path.ts";

const COUNT = 3000;

describe("toPathKey", () => {
  it("holds no more memory than its length for a long path", () => {
    let folder = ROOT;
    for (let level = 0; level < 64; level++) folder = childPath(folder, Buffer.alloc(255, "x"));
    const before = measureHeap();

    const keys = Array.from({ length: COUNT }, (_, index) => toPathKey(folder, Buffer.from(`${index}`)));

    const grownBytes = measureHeap() - before;
    expect(new Set(keys).size).toBe(COUNT);
    // Each of the paths has 16 KiB.
    expect(grownBytes).toBeLessThan(COUNT * 2048);
  });
});

function measureHeap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
