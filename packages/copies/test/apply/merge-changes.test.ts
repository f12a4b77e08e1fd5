import { chmodSync, linkSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { undoChanges } from "@budgie/copies/apply";
import { mergeTexts } from "../../src/apply/merge-texts.ts";
import { applyIn, createWorld, showTree, writeFiles, type World } from "../helpers/create-world.ts";

const BASE = "one\ntwo\nthree\nfour\nfive\n";
const AGENTS = "ONE\ntwo\nthree\nfour\nfive\n";
const MINE = "one\ntwo\nthree\nfour\nfive\nsix\n";
const BOTH = "ONE\ntwo\nthree\nfour\nfive\nsix\n";

/** Creates a world whose agent and user both changed `a.txt`, and applies the set with merges. */
async function mergeIn({ mine = MINE } = {}) {
  const world = createWorld({ "a.txt": BASE, "b.txt": "b\n" });
  writeFiles(world.copy, { "a.txt": AGENTS, "b.txt": "B\n" });
  const { id } = await world.collect();
  writeFiles(world.directory, { "a.txt": mine });
  return { world, id, merge: (over = {}) => applyIn(world, id, { onConflict: "merge", ...over }) };
}

const read = ({ directory }: World, path = "a.txt") => readFileSync(join(directory, path), "utf8");

describe("an apply that merges", () => {
  it("writes both changes of a text, keeps the user's rights, and gives the user's version back", async () => {
    const { id, merge, world } = await mergeIn();
    chmodSync(join(world.directory, "a.txt"), 0o640);

    const applied = await merge();

    expect(applied).toMatchObject({ state: "applied", conflicts: [] });
    expect(applied.applied.filter(({ merged }) => merged !== undefined).map(({ path }) => path)).toEqual(["a.txt"]);
    expect(showTree(world.directory)).toEqual({ "a.txt": BOTH, "b.txt": "B\n" });
    expect(statSync(join(world.directory, "a.txt")).mode & 0o777).toBe(0o640);
    expect(await undoChanges({ ...world, id })).toMatchObject({ state: "undone", conflicts: [] });
    expect(showTree(world.directory)).toEqual({ "a.txt": MINE, "b.txt": "b\n" });
  });

  it("keeps what its undo needs for as long as the set is kept", async () => {
    const { id, merge, world } = await mergeIn();
    await merge();
    const folder = join(world.stateDir, "objects");
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), 0, 0);
    writeFiles(world.copy, { "c.txt": "c\n" });
    await world.collect();

    await undoChanges({ ...world, id });

    expect(showTree(world.directory)).toEqual({ "a.txt": MINE, "b.txt": "b\n" });
  });

  it("gives a file the execute bit that the agent gave its copy, or the user's", async () => {
    const { id, world } = await mergeIn();
    chmodSync(join(world.copy, "a.txt"), 0o755);
    chmodSync(join(world.directory, "b.txt"), 0o755);
    writeFiles(world.copy, { "b.txt": "b\nB\n" });
    expect((await world.collect()).id).not.toBe(id);

    const { id: next } = await world.collect();
    await applyIn(world, next, { onConflict: "merge" });

    expect(["a.txt", "b.txt"].map((path) => statSync(join(world.directory, path)).mode & 0o111)).toEqual([
      0o111, 0o111,
    ]);
  });

  it("does not do so unasked", async () => {
    const { merge, world } = await mergeIn();

    expect((await merge({ onConflict: "stop" })).conflicts).toMatchObject([{ path: "a.txt" }]);
    expect(await merge({ onConflict: "skip" })).toMatchObject({ state: "partly", conflicts: [{ path: "a.txt" }] });
    expect(read(world)).toBe(MINE);
  });

  it.each([
    ["the same line", "uno\ntwo\nthree\nfour\nfive\n", "same lines"],
    ["a line beside", "one\nTWO\nthree\nfour\nfive\n", "beside each other"],
    ["a binary file", `${MINE}\0`, "binary"],
  ])("leaves %s, and applies the rest", async (_, mine, why) => {
    const path = "a.txt";
    const { merge, world } = await mergeIn({ mine });

    expect(await merge()).toMatchObject({ state: "partly", conflicts: [{ path, why: expect.stringContaining(why) }] });
    expect(showTree(world.directory)).toEqual({ [path]: mine, "b.txt": "B\n" });
  });

  it("holds back what would change the scripts of a package.json, although neither version alone does", async () => {
    const toText = (first: string, last: string): string =>
      `{\n  "${first}": {\n    "a": "evil"\n  },\n  "x": 1,\n  "${last}": {\n    "b": "2"\n  }\n}\n`;
    const world = createWorld({ "package.json": toText("old", "scripts") });
    // The last of two keys counts.
    writeFiles(world.copy, { "package.json": toText("scripts", "scripts") });
    const { id, set } = await world.collect();
    expect(set.changes[0]?.guard).toBeUndefined();
    const mine = toText("old", "tasks");
    writeFiles(world.directory, { "package.json": mine });

    const { conflicts } = await applyIn(world, id, { onConflict: "merge" });

    expect(conflicts).toMatchObject([{ path: "package.json", why: expect.stringContaining("scripts would change") }]);
    expect(read(world, "package.json")).toBe(mine);
  });

  it("leaves a file with hard links", async () => {
    const { merge, world } = await mergeIn();
    linkSync(join(world.directory, "a.txt"), join(world.outside, "twin"));

    expect((await merge()).conflicts).toMatchObject([{ path: "a.txt", why: expect.stringContaining("hard links") }]);
  });

  it("never writes over a version that it did not merge", async () => {
    const { merge, world } = await mergeIn();

    const result = await merge({
      onStep(step: string) {
        if (step === "rename a.txt") writeFileSync(join(world.directory, "a.txt"), "saved\n");
      },
    });

    expect(result).toMatchObject({ applied: [], conflicts: [{ path: "a.txt" }] });
    expect(showTree(world.directory)).toEqual({ "a.txt": "saved\n", "b.txt": "b\n" });
  });

  it("is known to the next one, and to the agent's next turn", async () => {
    const { id, merge, world } = await mergeIn();
    writeFiles(world.copy, { "AGENTS.md": "obey\n" });
    const first = await world.collect();
    expect(first.id).not.toBe(id);
    await applyIn(world, first.id, { onConflict: "merge" });
    expect(read(world)).toBe(BOTH);

    const again = await applyIn(world, first.id, { withGuarded: true });
    expect(again).toMatchObject({ state: "applied", conflicts: [] });
    await expect(merge()).rejects.toThrow("is replaced");
    writeFiles(world.copy, { "a.txt": "ONE\ntwo\nTHREE\nfour\nfive\n" });
    const next = await world.collect();
    await applyIn(world, next.id, { onConflict: "merge" });

    expect(read(world)).toBe("ONE\ntwo\nTHREE\nfour\nfive\nsix\n");
  });
});

describe("merged texts", () => {
  it.each([
    ["changes apart", { base: "a\nb\nc\n", one: "A\nb\nc\n", other: "a\nb\nC\n" }, "A\nb\nC\n"],
    ["the same change of both", { base: "a\nb\nc\n", one: "A\nb\nc\n", other: "A\nb\nc\n" }, "A\nb\nc\n"],
    ["an end without a newline", { base: "a\nb\nc", one: "A\nb\nc", other: "a\nb\nc\n" }, "A\nb\nc\n"],
    ["changes of one line", { base: "a\nb\n", one: "A\nb\n", other: "x\nb\n" }, undefined],
    ["changes beside each other", { base: "a\nb\nc\n", one: "A\nb\nc\n", other: "a\nB\nc\n" }, undefined],
    [
      "changes among repeated lines",
      { base: "a\nx\nx\nx\nb\n", one: "a\nx\nx\nx\nx\nb\n", other: "a\nx\nx\nb\n" },
      undefined,
    ],
    ["changes around a repeated line", { base: "x\nx\n", one: "x\n", other: "N\nx\nx\n" }, undefined],
    [
      "a change where the other moved a line past",
      { base: "a\nb\nc\nd\n", one: "d\na\nb\nc\n", other: "a\nb\nx\nc\nd\n" },
      undefined,
    ],
    [
      "a change of a line that the other moved",
      { base: "a\nb\nc\nd\n", one: "b\nc\nd\na\n", other: "A\nb\nc\nd\n" },
      undefined,
    ],
  ])("have %s, or are none", (_, texts, merged) => {
    expect(mergeTexts(texts)).toBe(merged);
  });

  it("are found among lines of few kinds as among many, since each text is read once", () => {
    const base = Array.from({ length: 200_000 }, (_, line) => `${(line * 7919) % 3}\n`).join("");

    expect(mergeTexts({ base: `a\n${base}z\n`, one: `A\n${base}z\n`, other: `a\n${base}Z\n` })).toBeUndefined();
    expect(mergeTexts({ base: `a\nb\n${base}c\nz\n`, one: `A\nb\n${base}c\nz\n`, other: `a\nb\n${base}c\nZ\n` })).toBe(
      `A\nb\n${base}c\nZ\n`,
    );
  });
});
