import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { mergeTexts, type MergeRequest } from "../../src/apply/merge-texts.ts";

const CASES = 200;

it("A merge has the bytes that git merge-file has, on generated texts", () => {
  const folder = mkdtempSync(join(tmpdir(), "budgie-merge-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const random = createRandom(7);
  const counts = { both: 0, onlyGit: 0, neither: 0 };
  for (let at = 0; at < CASES; at++) {
    // From lines that are all different to those of three kinds.
    const kinds = [3, 8, 40, 10_000][at % 4] ?? 3;
    const base = Array.from({ length: 5 + random(40) }, () => `${random(kinds)}`);
    const texts = { base: toText(base), one: toText(edit(base, random)), other: toText(edit(base, random)) };
    const ours = mergeTexts(texts);
    const gits = mergeByGit(folder, texts);
    if (ours === undefined) counts[gits === undefined ? "neither" : "onlyGit"]++;
    else {
      expect(ours, JSON.stringify(texts)).toBe(gits);
      counts.both++;
    }
  }
  // Enough of each to be worth something.
  expect(counts.both).toBeGreaterThan(CASES / 8);
  expect(counts.neither).toBeGreaterThan(CASES / 8);
});

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** Changes, adds and removes a few lines. */
function edit(lines: readonly string[], random: (below: number) => number): readonly string[] {
  const edited = [...lines];
  for (let left = 1 + random(3); left > 0; left--) {
    const at = random(edited.length + 1);
    // Moves a line now and then.
    if (random(5) === 0) edited.push(...edited.splice(random(edited.length), 1));
    const removed = random(3);
    const added = Array.from({ length: random(3) }, () => (random(4) === 0 ? `${random(8)}` : `new ${random(1000)}`));
    edited.splice(at, removed, ...added);
  }
  return edited;
}

/** Merges with git; `undefined` for a conflict. */
function mergeByGit(folder: string, { base, one, other }: MergeRequest): string | undefined {
  const names = Object.entries({ one, base, other }).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  const { error, status, stdout } = spawnSync("git", ["merge-file", "-p", ...names], { encoding: "utf8" });
  if (error !== undefined) throw error;
  return status === 0 ? stdout : undefined;
}

/** Creates numbers that are the same in each run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}
