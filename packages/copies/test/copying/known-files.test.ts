import { createHash } from "node:crypto";
import { chmodSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKnownFiles } from "../../src/copying/known-files.ts";
import { readOnce } from "../../src/copying/read-once.ts";
import { selectEntries } from "../../src/selection/select-entries.ts";
import { createTree } from "../helpers/create-tree.ts";

const WISHES = { files: "unignored", include: [], worktreeInclude: false, exclude: [] } as const;
const NO_GIT = { configs: [], excludes: "/nonexistent", home: "/nonexistent" };
const HEAD = ".git/refs/heads/main";
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
// Files that were made long before the directory is read.
const LATER_MS = 60_000;

const select = (directory: string) => selectEntries(directory, { wishes: WISHES, userGit: NO_GIT });
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Reads a directory, and returns the paths that are known when it is selected again after a change. */
async function listKnown(change: (directory: string) => void, startedMs = Date.now() + LATER_MS) {
  const directory = createTree({ "a.txt": "a", "b.txt": "b", ".git/HEAD": "", [HEAD]: COMMIT });
  const known = createKnownFiles();
  const selection = await select(directory);
  const read = await readOnce(selection, { folder: createTree({}), over: new AbortController().signal });
  known.keep(selection, read.manifest, startedMs);
  change(directory);
  const { entries } = await select(directory);
  return entries.flatMap((entry) => (known.of(directory)(entry) === undefined ? [] : [entry.entry.path]));
}

it("A file is known until it changes, but for references, whose commits are read each time", async () => {
  expect(await listKnown(() => undefined)).toEqual(["a.txt", "b.txt"]);
});

it.each<[string, (directory: string) => void]>([
  [
    "got another content of the same length, and its old times",
    (directory) => {
      writeFileSync(join(directory, "a.txt"), "x");
      utimesSync(join(directory, "a.txt"), 1, 1);
    },
  ],
  ["got other rights", (directory) => chmodSync(join(directory, "a.txt"), 0o755)],
  [
    "was replaced",
    (directory) => {
      writeFileSync(join(directory, "new"), "a");
      renameSync(join(directory, "new"), join(directory, "a.txt"));
    },
  ],
  ["was removed", (directory) => rmSync(join(directory, "a.txt"))],
])("A file is not known any more once it %s", async (_, change) => {
  expect(await listKnown(change)).toEqual(["b.txt"]);
});

it("A file is not known if it changed when it was read, since it could change again without another time", async () => {
  expect(await listKnown(() => undefined, Date.now())).toEqual([]);
});

it("A known file is read only for a copy that is filled with it, which fails if it has another content by then", async () => {
  const selection = await select(createTree({ "a.txt": "a", "b.txt": "b" }));
  const options = { folder: createTree({}), over: new AbortController().signal };
  const whole = await readOnce(selection, options);
  const readAs = (digest: string) =>
    readOnce(selection, {
      ...options,
      findKnown: ({ entry }) => (entry.kind === "file" && entry.path === "a.txt" ? { ...entry, digest } : undefined),
    });
  const fill = async ({ entries }: Awaited<ReturnType<typeof readAs>>) => {
    const contents: string[] = [];
    for await (const { content } of entries()) contents.push(Buffer.isBuffer(content) ? content.toString() : "");
    return contents;
  };

  const same = await readAs(sha256("a"));
  expect([same.id, same.manifest]).toEqual([whole.id, whole.manifest]);
  expect(await fill(same)).toEqual(["a", "b"]);

  const other = await readAs(sha256("x"));
  expect(other.id).not.toBe(whole.id);
  await expect(fill(other)).rejects.toMatchObject({ code: "TORN" });
});
