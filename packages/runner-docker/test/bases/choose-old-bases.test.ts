import { expect, it } from "vitest";
import { chooseOldBases } from "../../src/bases/choose-old-bases.ts";

const toBase = (directory: string, ...sessions: readonly string[]) => ({ directory, sessions: new Set(sessions) });

it("The oldest bases without a session go beyond three of a directory", () => {
  const bases = [toBase("/a", "used"), toBase("/a"), toBase("/b"), toBase("/a"), toBase("/a", "new")];

  expect(chooseOldBases(bases)).toEqual([bases[1]]);
});

it("Bases with sessions stay, however many they are, and the oldest of the others go beyond twelve", () => {
  const used = Array.from({ length: 5 }, () => toBase("/a", "used"));
  const others = Array.from({ length: 10 }, (_, index) => toBase(`/${index}`));

  expect(chooseOldBases([...used, ...others])).toEqual(others.slice(0, 3));
});
