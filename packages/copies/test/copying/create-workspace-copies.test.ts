import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { FilledEntry, FoundEntry, WorkspaceCopy } from "@budgie/core/copies";
import { expect, it } from "vitest";
import { createTree } from "../helpers/create-tree.ts";
import { listOpen } from "../helpers/list-open.ts";
import { open, openPlace } from "../helpers/open-place.ts";

it("A copy is filled once for its session, and again once it is another", async () => {
  const { copies, copy, fills, turn } = openPlace();

  const made = [await copies.prepare(copy, turn), await copies.prepare(copy, turn)];
  Object.assign(fills.at(-1) ?? {}, { id: "somebody made it anew" });
  made.push(await copies.prepare(copy, turn));

  expect(made.map(({ isReused }) => isReused)).toEqual([false, true, false]);
  expect(made[1]).toMatchObject({ leftOut: [{ why: "git ignores it", count: 1, paths: ["b.log"] }] });
  expect(fills[0]?.paths).toEqual([".git", ".git/HEAD", ".git/config", ".gitignore", "a.txt"]);
});

it("A copy whose fill failed is filled again, and nothing is remembered of it", async () => {
  const { copies, copy, folder, turn } = openPlace();
  const failing = { ...copy, fill: () => Promise.reject(new Error("The engine went away.")) };

  await expect(copies.prepare(failing, turn)).rejects.toThrow("The engine went away.");

  expect(readdirSync(join(folder, ".."))).not.toContain("bases");
  expect((await copies.prepare(copy, turn)).isReused).toBe(false);
});

it("The base of a copy is there with its fill, and on the disk before changes are collected", async () => {
  const { copies, copy, folder, turn } = openPlace({}, async () => {
    expect(listOpen(folder)).toEqual([]);
    return undefined;
  });
  await copies.prepare(copy, turn);
  expect(await copies.bases.load(turn.sessionId)).toMatchObject({ directory: turn.directory });

  // Its file is open until the disk has it.
  await copies.collect(copy, turn);
});

it("A fill that is cancelled ends with CANCELLED", async () => {
  const { copies, copy, turn } = openPlace();

  await expect(copies.prepare(copy, { ...turn, signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "CANCELLED",
  });
});

it("A large file that changes while it is sent is sent again", async () => {
  const { copies, copy, directory, fills, turn } = openPlace({ "large.bin": "x".repeat(9 * 1024 ** 2) });
  let isFirst = true;
  const changing: WorkspaceCopy = {
    ...copy,
    fill: (entries) =>
      copy.fill(
        tap(entries, () => {
          if (isFirst) appendFileSync(join(directory, "large.bin"), "more");
          isFirst = false;
        }),
      ),
  };

  const { bytes } = await copies.prepare(changing, turn);

  expect(fills).toHaveLength(1);
  expect(bytes).toBeGreaterThan(9 * 1024 ** 2 + 3);
});

it("Changes are collected against the directory as it was when it was copied", async () => {
  const bases: unknown[] = [];
  const { copies, copy, directory, turn } = openPlace({}, async (_, { base }) => void bases.push(base));
  const began = Date.now();
  await copies.prepare(copy, turn);
  appendFileSync(join(directory, "a.txt"), "more");

  await copies.collect(copy, turn);

  const entries = expect.arrayContaining([expect.objectContaining({ path: "a.txt", kind: "file", size: 1 })]);
  expect(bases).toMatchObject([{ manifest: { entries }, startedMs: expect.toSatisfy((ms: number) => ms >= began) }]);
});

it("The changes of a cancelled turn are collected for some time, and those of another until it is cancelled", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const cancelling = new AbortController();
  const { copies, copy, turn } = openPlace({}, async (_, { signal }) => {
    signals.push(signal);
    cancelling.abort();
    if (signals.length === 1) throw new Error("The stream ended.");
  });
  await copies.prepare(copy, turn);
  const cancelled = { ...turn, signal: cancelling.signal };

  await expect(copies.collect(copy, cancelled)).rejects.toMatchObject({
    code: "CANCELLED",
    message: expect.stringContaining("next turn of the session"),
  });
  await copies.collect(copy, cancelled);

  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
});

it("A directory is settled before it is copied, and not once more for the same copy", async () => {
  const settled: string[] = [];
  const directory = createTree({ "a.txt": "half of an apply" });
  const { copies, copy, turn } = open(directory, {
    async settle(path) {
      settled.push(path);
      writeFileSync(join(directory, "a.txt"), "a");
    },
  });

  expect(await copies.prepare(copy, turn)).toMatchObject({ bytes: 1 });
  await copies.prepare(copy, turn);

  expect(settled).toEqual([directory]);
});

it("References that name what the directory's did not are told, from few bytes of each", async () => {
  const packed = `# pack-refs\n${B} refs/tags/v1\n^${C}\n`;
  const files = { ".git/HEAD": `${A}\n`, ".git/refs/heads/main": `${A}\n`, ".git/packed-refs": packed };
  const { copies, copy, turn } = openPlace(files, async (collected) => {
    for await (const _ of collected.read());
    return COUNTS;
  });
  await copies.prepare(copy, turn);
  async function* found() {
    yield toFound(".git/HEAD", `${B}\n`);
    yield toFound(".git/refs/heads/main", `${C}\n`);
    yield toFound(".git/refs/heads/huge", `${C}${" ".repeat(2000)}`);
    yield toFound(".git/refs/heads/word", "no hash");
    yield toFound("refs/heads/outside", C);
    yield toFound(
      ".git/packed-refs",
      `${C} refs/heads/main\n${C} refs/heads/\u001b[2J\n${C} refs/heads/${"x".repeat(300)}\n${A} refs/heads/old\n`,
    );
  }

  const changes = await copies.collect({ ...copy, read: found }, turn);

  expect(changes).toEqual({ ...COUNTS, commits: ["refs/heads/main"] });
  expect(await copies.collect({ ...copy, read: () => emptyCopy() }, turn)).toEqual(COUNTS);
});

const [A, B, C] = ["a", "b", "c"].map((digit) => digit.repeat(40)) as [string, string, string];
const COUNTS = { changeId: "1", added: 0, changed: 1, removed: 0, guarded: [], notApplicable: [] };

function toFound(path: string, content: string): FoundEntry {
  const entry = { path, kind: "file", mode: 0o644, size: content.length } as const;
  return { entry, content: Readable.from([Buffer.from(content)]) };
}

async function* emptyCopy(): AsyncGenerator<FoundEntry> {}

it("The progress is told at once", async () => {
  const { copies, copy, turn } = openPlace();
  const told: string[] = [];

  await copies.prepare(copy, { ...turn, onProgress: (text) => void told.push(text) });

  expect(told[0]).toBe("looking at the directory");
});

async function* tap(entries: AsyncIterable<FilledEntry>, onEntry: () => void): AsyncGenerator<FilledEntry> {
  for await (const entry of entries) {
    onEntry();
    yield entry;
  }
}
