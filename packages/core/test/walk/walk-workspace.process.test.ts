import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toPathKey } from "../../src/walk/folder-path.ts";
import { openChildFolder, type OpenFolder } from "../../src/walk/open-folder.ts";
import { walkWorkspace, type Next, type WalkBounds } from "../../src/walk/walk-workspace.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("walkWorkspace", () => {
  it("enters folders breadth first, and late ones after all others", async () => {
    const root = createTree("a/deep/er", "late/deep", "z");

    const { visited } = await walk(root);

    expect(visited.map((path) => (path.startsWith("late") ? path : path.length))).toEqual([
      0,
      1,
      1,
      "a/deep".length,
      "a/deep/er".length,
      "late",
      "late/deep",
    ]);
  });

  it("stays in the opened folder when a folder above it is replaced by a symlink", async () => {
    const [root, home] = [createTree("a/b/c"), createTree("b/c/private")];

    let isExchanged = false;

    const { unread, visited } = await walk(root, {
      async open(parent, name) {
        if (name.toString() === "b" && !isExchanged) {
          isExchanged = true;
          renameSync(join(root, "a"), join(root, "moved"));
          symlinkSync(home, join(root, "a"));
        }
        return openChildFolder(parent, name);
      },
    });

    expect(visited).toEqual(["", "a", "a/b", "a/b/c"]);
    expect(unread).toEqual([]);
  });

  it("does not begin at a symlink, nor at a path that leads through one", async () => {
    const [root, home] = [createTemporaryFolder(), createTree("private/more")];
    symlinkSync(home, join(root, "link"));

    const whole = await walk(join(root, "link"));
    const through = await walk(join(root, "link/private"));

    expect([whole.visited, through.visited]).toEqual([[], []]);
    expect([...whole.unread, ...through.unread]).toEqual([
      ": it cannot be read (ENOTDIR)",
      ": it cannot be read (ESTALE)",
    ]);
  });

  it("counts entries as it reads them, and reports the folders it did not search", async () => {
    const root = createTree("a", "b");
    for (let index = 0; index < 1000; index++) writeFileSync(join(root, `file-${index}`), "");

    const { entries, unread } = await walk(root, { bounds: { entries: 10, timeMs: 60_000 } });

    expect(entries).toBe(10);
    expect(unread[0]).toBe(": there is too much in it to look at");
  });

  it("ends at the timeout if a file system never answers", async () => {
    const root = createTree("before", "stuck");

    const { unread } = await walk(root, {
      bounds: { entries: 10, timeMs: 50 },
      open: (parent, name) =>
        name.toString() === "stuck" ? new Promise(() => undefined) : openChildFolder(parent, name),
    });

    expect(unread).toContain(": there was not enough time to look at all of it");
  });

  it("yields to others while it names very many folders that it did not search", async () => {
    const root = createTree(...Array.from({ length: 1000 }, (_, index) => `${index}`));
    const turns = new Set<number>();
    let turn = 0;
    const timer = setInterval(() => (turn += 1), 0);
    const onUnread = (): void => {
      turns.add(turn);
      const untilMs = performance.now() + 2;
      while (performance.now() < untilMs);
    };

    // Naming the folders takes longer than the time limit of the walk, which must not cut it short.
    const { unread } = await walk(root, { bounds: { entries: 1000, timeMs: 1000 }, onUnread });
    clearInterval(timer);

    expect(unread).toHaveLength(1000);
    expect(unread.filter((folder) => folder.startsWith(":"))).toEqual([]);
    expect(turns.size).toBeGreaterThan(50);
  });

  it("keeps few folders open, however many there are", async () => {
    const folders = Array.from({ length: 300 }, (_, index) => `many/${index}/a/b/c`);
    const root = createTree(...folders);
    const before = countDescriptors();
    let most = 0;

    const { visited } = await walk(root, {
      async open(parent, name) {
        most = Math.max(most, countDescriptors());
        return openChildFolder(parent, name);
      },
    });

    expect(visited).toHaveLength(2 + 4 * 300);
    expect(most - before).toBeLessThan(40);
    expect(countDescriptors()).toBe(before);
  });
});

type Options = { readonly open?: OpenFolder; readonly bounds?: WalkBounds; readonly onUnread?: () => void };

async function walk(root: string, { bounds = { entries: 10_000, timeMs: 60_000 }, onUnread, open }: Options = {}) {
  const [visited, unread]: [string[], string[]] = [[], []];
  let entries = 0;
  await walkWorkspace(root, {
    bounds,
    open,
    kind: undefined,
    async visit(folder) {
      visited.push(toPathKey(folder.path));
      const next: Next<undefined>[] = [];
      for await (const batch of folder.batches()) {
        entries += batch.length;
        for (const { name, type } of batch) {
          if (type === "folder") next.push({ name, kind: undefined, isLate: name.toString() === "late" });
        }
      }
      return next;
    },
    onUnread({ path, why }) {
      unread.push(`${path}: ${why}`);
      onUnread?.();
    },
  });
  return { entries, unread, visited };
}

function createTree(...folders: readonly string[]): string {
  const root = createTemporaryFolder();
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  return root;
}

function countDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}
