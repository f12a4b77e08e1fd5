import { appendFileSync, chmodSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createSessionId } from "@budgie/core";
import type { FilledEntry, FoundEntry, WorkspaceCopy } from "@budgie/core/copies";
import { describe, expect, it } from "vitest";
import {
  createWorkspaceCopies,
  type CollectChanges,
  type CopiesOptions,
} from "../../src/copying/create-workspace-copies.ts";
import { createTree } from "../helpers/create-tree.ts";

const WISHES = { files: "unignored", include: [], worktreeInclude: false, exclude: [] } as const;
const NO_GIT = { configs: [], excludes: "/nonexistent", home: "/nonexistent" };

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
    yield toFound(".git/packed-refs", `${C} refs/heads/main\n${C} refs/heads/\u001b[2J\n${A} refs/heads/old\n`);
  }

  const changes = await copies.collect({ ...copy, read: found }, turn);

  expect(changes).toEqual({ ...COUNTS, commits: ["refs/heads/main", "refs/heads/\u001b[2J"] });
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

it("Copies with one base are of the directory as it was when the first was made, and it is read once", async () => {
  const { copies, copy, directory, fills, folder, turn } = openPlace({ "large.bin": "x".repeat(3 * 1024 ** 2) });
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
  expect(fills.map(({ texts }) => texts.get("large.bin")?.length)).toEqual([3, 3, 3].map((size) => size * 1024 ** 2));
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

function openPlace(files: Record<string, string> = {}, collect?: CollectChanges) {
  const directory = createTree({ "a.txt": "a", "b.log": "", ".gitignore": "*.log", ".git/HEAD": "", ...files });
  return { ...open(directory, { collect }), directory };
}

function open(directory: string, hooks: Pick<CopiesOptions, "collect" | "settle"> = {}) {
  const fills: { id: string; readonly paths: readonly string[]; readonly texts: ReadonlyMap<string, string> }[] = [];
  const copy: WorkspaceCopy = {
    fillId: async () => fills.at(-1)?.id,
    async fill(entries) {
      const texts = new Map<string, string>();
      for await (const { content = Buffer.of(), entry } of entries) {
        texts.set(entry.path, Buffer.isBuffer(content) ? content.toString() : await text(content));
      }
      fills.push({ id: `fill ${fills.length}`, paths: [...texts.keys()], texts });
      return `fill ${fills.length - 1}`;
    },
    read: () => {
      throw new Error("Nothing reads it here.");
    },
  };
  const folder = join(createTree({}), "bases");
  const copies = createWorkspaceCopies({ folder, wishes: WISHES, userGit: NO_GIT, ...hooks });
  return { copies, copy, fills, folder, turn: { sessionId: createSessionId(), runId: "1", agent: "a", directory } };
}

async function* tap(entries: AsyncIterable<FilledEntry>, onEntry: () => void): AsyncGenerator<FilledEntry> {
  for await (const entry of entries) {
    onEntry();
    yield entry;
  }
}
