import { chmodSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSessionId } from "@budgie/core";
import type { WorkspaceCopy } from "@budgie/core/copies";
import { describe, expect, it } from "vitest";
import { openPlace } from "../helpers/open-place.ts";

it("Copies with one base are of the directory as it was when the first was made, and it is read once", async () => {
  // Memory has room for four, and the last is too large to be read at once.
  const files = [7, 7, 7, 7, 7, 9].map((size, index) => [`large-${index}.bin`, "x".repeat(size * 1024 ** 2)]);
  const { copies, copy, directory, fills, folder, turn } = openPlace(Object.fromEntries(files));
  const over = new AbortController();
  const sharing = () => ({ ...turn, sessionId: createSessionId(), sharedBase: { over: over.signal } });
  const [sharedBase, other] = [sharing().sharedBase, sharing()];

  const first = { ...sharing(), sharedBase };
  await copies.prepare(copy, first);
  writeFileSync(join(directory, "a.txt"), "b");
  const second = { ...sharing(), sharedBase };
  await copies.prepare(copy, second);
  await copies.prepare(copy, other);

  expect(fills.map(({ texts }) => texts.get("a.txt"))).toEqual(["a", "a", "b"]);
  for (const { texts } of fills) {
    for (const [path = "", text = ""] of files) expect(texts.get(path) === text).toBe(true);
  }
  const bases = await Promise.all([first, second].map(({ sessionId }) => copies.bases.load(sessionId)));
  expect(bases[1]?.manifest).toEqual(bases[0]?.manifest);
  expect(bases[1]?.report).toEqual(bases[0]?.report);
  // The contents lie in files without names.
  expect(readdirSync(folder).filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
  over.abort();
});

it("A turn that is cancelled leaves the shared base to the others, and all ends with the base", async () => {
  const { copies, copy, turn } = openPlace();
  const over = new AbortController();
  const sharedBase = { over: over.signal };
  const others = { ...turn, sessionId: createSessionId(), sharedBase };

  const cancelled = copies.prepare(copy, { ...turn, sharedBase, signal: AbortSignal.abort() });
  const made = copies.prepare(copy, others);

  await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
  expect((await made).entries).toBe(5);
  over.abort();
  await expect(copies.prepare(copy, { ...others, sessionId: createSessionId() })).rejects.toThrow();
});

describe("on an engine with bases", () => {
  it("the second copy of a directory lies over a base, which the third shares until a file changes", async () => {
    const { copies, copy, directory, fills, turn } = openPlace();
    const { bases, over } = createBases(copy);
    const prepare = () => copies.prepare(over, { ...turn, sessionId: createSessionId() });

    await prepare();
    expect([fills.length, bases]).toEqual([1, []]);
    await prepare();
    await prepare();
    const [second, third] = bases;
    expect([fills.length, third?.id]).toEqual([1, second?.id]);
    expect(second).toMatchObject({ directory, paths: [".git", ".git/HEAD", ".git/config", ".gitignore", "a.txt"] });

    chmodSync(join(directory, "a.txt"), 0o755);
    await prepare();
    utimesSync(join(directory, "a.txt"), 1, 1);
    await prepare();
    expect(new Set(bases.map(({ id }) => id)).size).toBe(3);
  });

  it("copies of one call lie over a base from the first on", async () => {
    const { copies, copy, fills, turn } = openPlace();
    const { bases, over } = createBases(copy);
    const sharedBase = { over: new AbortController().signal };

    await copies.prepare(over, { ...turn, sharedBase });

    expect([bases.length, fills.length]).toEqual([1, 0]);
  });

  it("a copy is filled on its own once the engine refuses a base", async () => {
    const { copies, copy, fills, turn } = openPlace();
    const refusing: WorkspaceCopy = { ...copy, fillOver: async () => undefined };
    const sharedBase = { over: new AbortController().signal };

    const { entries } = await copies.prepare(refusing, { ...turn, sharedBase });

    expect([entries, fills[0]?.paths.length]).toEqual([5, 5]);
  });
});

/** Adds bases to a copy. */
function createBases(copy: WorkspaceCopy) {
  const bases: { readonly id: string; readonly directory: string; readonly paths: readonly string[] }[] = [];
  const over: WorkspaceCopy = {
    ...copy,
    async fillOver({ directory, entries, id }) {
      const paths: string[] = [];
      for await (const { entry } of entries()) paths.push(entry.path);
      bases.push({ id, directory, paths });
      return `over ${bases.length}`;
    },
  };
  return { bases, over };
}
