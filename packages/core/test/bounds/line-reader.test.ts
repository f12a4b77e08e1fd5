import { describe, expect, it, vi } from "vitest";
import { createLineReader } from "../../src/bounds/line-reader.ts";

function read(chunks: readonly string[], maxBytes = 10) {
  const lines: string[] = [];
  let tooLong = 0;
  const take = createLineReader({
    maxBytes,
    onLine: (line) => lines.push(String(line)),
    onTooLong: () => (tooLong += 1),
  });
  const counts = chunks.map((chunk) => take(Buffer.from(chunk, "latin1")));
  return { lines, tooLong, counts };
}

describe("lines of chunks", () => {
  it("are whole wherever the chunks end", () => {
    expect(read(["a", "b\nc", "", "\n\nd"])).toEqual({ lines: ["ab", "c", ""], tooLong: 0, counts: [0, 1, 0, 2] });
  });

  it("have characters whose bytes are in two chunks", () => {
    expect(read(["\xc3", "\xa4\n"]).lines).toEqual(["ä"]);
  });

  it("end with one that is too long, with or without its end", () => {
    expect(read(["fine\n01234567890\nmore\n"])).toMatchObject({ lines: ["fine"], tooLong: 1 });
    expect(read(["012345", "67890", "x", "\na\n"])).toMatchObject({ lines: [], tooLong: 1 });
  });

  it("are kept in few pieces that hold no chunk in memory", () => {
    const join = vi.spyOn(Buffer, "concat");
    const lines: string[] = [];
    const take = createLineReader({
      maxBytes: 10_000,
      onLine: (line) => lines.push(String(line)),
      onTooLong: () => undefined,
    });
    const chunk = Buffer.from("a");
    for (let count = 0; count < 5000; count += 1) take(chunk);
    chunk.fill("b");
    take(Buffer.from("\n"));
    const most = Math.max(...join.mock.calls.map(([pieces]) => pieces.length));
    join.mockRestore();

    expect(lines.map((line) => line.replaceAll("a", "").length)).toEqual([0]);
    expect(most).toBeLessThan(1100);
  });
});
