import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSessionId } from "@budgie/core";
import type { FilledEntry, WorkspaceCopy } from "@budgie/core/copies";
import { expect, it } from "vitest";
import {
  createWorkspaceCopies,
  type CollectChanges,
  type CopiesOptions,
} from "../../src/copying/create-workspace-copies.ts";
import { createTree } from "../helpers/create-tree.ts";

const WISHES = { files: "unignored", include: [], exclude: [] } as const;
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

it("The progress is told at once", async () => {
  const { copies, copy, turn } = openPlace();
  const told: string[] = [];

  await copies.prepare(copy, { ...turn, onProgress: (text) => void told.push(text) });

  expect(told[0]).toBe("looking at the directory");
});

function openPlace(files: Record<string, string> = {}, collect?: CollectChanges) {
  const directory = createTree({ "a.txt": "a", "b.log": "", ".gitignore": "*.log", ".git/HEAD": "", ...files });
  return { ...open(directory, { collect }), directory };
}

function open(directory: string, hooks: Pick<CopiesOptions, "collect" | "settle"> = {}) {
  const fills: { id: string; readonly paths: readonly string[] }[] = [];
  const copy: WorkspaceCopy = {
    fillId: async () => fills.at(-1)?.id,
    async fill(entries) {
      const paths: string[] = [];
      for await (const { content, entry } of entries) {
        paths.push(entry.path);
        if (content !== undefined && !Buffer.isBuffer(content)) for await (const _ of content);
      }
      fills.push({ id: `fill ${fills.length}`, paths });
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
