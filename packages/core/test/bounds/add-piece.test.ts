import { describe, expect, it } from "vitest";
import { addPiece } from "../../src/bounds/add-piece.ts";

describe("addPiece", () => {
  it.each([
    ["single bytes", Array.from({ length: 200_000 }, () => 1)],
    ["pieces that become ever smaller", Array.from({ length: 20_000 }, (_, index) => 100 - (index % 100))],
    ["lines of a usual length", Array.from({ length: 20_000 }, (_, index) => 40 + ((index * 31) % 80))],
  ])("holds %s as few pieces, and loses nothing", (_what, sizes) => {
    const { held, whole } = hold(sizes);

    expect(Buffer.concat(held).equals(whole)).toBe(true);
    expect(held.length).toBeLessThan(whole.length / 256);
  });

  it("does not copy a large piece", () => {
    const held: Buffer[] = [];
    const large = Buffer.alloc(64 * 1024);

    for (let count = 0; count < 3; count++) addPiece(held, large);

    expect(held.map((piece) => piece === large)).toEqual([true, true, true]);
  });
});

function hold(sizes: readonly number[]): { readonly held: readonly Buffer[]; readonly whole: Buffer } {
  const held: Buffer[] = [];
  const pieces = sizes.map((size, index) => Buffer.alloc(size, index % 251));
  for (const piece of pieces) addPiece(held, piece);
  return { held, whole: Buffer.concat(pieces) };
}
