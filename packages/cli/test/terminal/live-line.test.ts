import { describe, expect, it } from "vitest";
import { createLiveLine } from "../../src/terminal/live-line.ts";

describe("createLiveLine", () => {
  it("replaces the line, and removes it", () => {
    const { line, written } = create(80);

    line.show("one");
    line.show("two");
    line.clear();
    line.clear();

    expect(written()).toBe("\r\u001B[Kone\r\u001B[Ktwo\r\u001B[K");
  });

  it.each([
    ["x".repeat(30), `${"x".repeat(18)}…`],
    ["漢".repeat(30), `${"漢".repeat(9)}…`],
    ["x".repeat(18), "x".repeat(18)],
    ["a\u001B[31mb\nc", "a?[31mb?c"],
  ])("shows %j in 20 columns as %j, which a terminal neither wraps nor obeys", (text, shown) => {
    const { line, written } = create(20);

    line.show(text);

    expect(written()).toBe(`\r\u001B[K${shown}`);
  });

  it("writes nothing without a terminal", () => {
    const { line, written } = create(undefined);

    line.show("one");
    line.clear();

    expect(written()).toBe("");
  });
});

function create(columns: number | undefined) {
  const pieces: string[] = [];
  const write = (piece: string): boolean => pieces.push(piece) > 0;
  return { line: createLiveLine({ write }, columns), written: () => pieces.join("") };
}
