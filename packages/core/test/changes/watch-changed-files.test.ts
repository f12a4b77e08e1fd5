import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ChangedFile, ChangedFiles } from "../../src/changed-files.ts";
import { watchExecutablePaths } from "../../src/changes/watch-executable-paths.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("the changed files of a turn", () => {
  it.each<[string, readonly ChangedFile[], (root: string) => void]>([
    ["a file that was created", [created("src/b.ts", 4)], (root) => write(root, "src/b.ts", "four")],
    [
      "a folder that was created, and what is in it",
      [created("new/"), created("new/deep/c", 1)],
      (root) => write(root, "new/deep/c"),
    ],
    ["changed content", [{ path: "src/a.ts", kind: "changed", size: 3 }], (root) => write(root, "src/a.ts", "abc")],
    [
      "content whose time was set back",
      [{ path: "src/a.ts", kind: "changed", size: 3 }],
      (root) => {
        write(root, "src/a.ts", "abc");
        utimesSync(join(root, "src/a.ts"), 1, 1);
      },
    ],
    [
      "a changed mode",
      [{ path: "src/a.ts", kind: "changed", size: 1 }],
      (root) => chmodSync(join(root, "src/a.ts"), 0o755),
    ],
    ["a file that was removed", [{ path: "src/a.ts", kind: "removed" }], (root) => unlinkSync(join(root, "src/a.ts"))],
    [
      "all files of a folder that was removed",
      [
        { path: "src/", kind: "removed" },
        { path: "src/a.ts", kind: "removed" },
        { path: "src/deep/d.ts", kind: "removed" },
      ],
      (root) => rmSync(join(root, "src"), { recursive: true }),
    ],
    [
      "a folder that was renamed",
      [
        created("lib/"),
        created("lib/a.ts", 1),
        created("lib/deep/d.ts", 1),
        { path: "src/", kind: "removed" },
        { path: "src/a.ts", kind: "removed" },
        { path: "src/deep/d.ts", kind: "removed" },
      ],
      (root) => renameSync(join(root, "src"), join(root, "lib")),
    ],
    [
      "a file that a link replaced",
      [{ path: "src/a.ts", kind: "link" }],
      (root) => {
        unlinkSync(join(root, "src/a.ts"));
        symlinkSync("deep", join(root, "src/a.ts"));
      },
    ],
    [
      "a link that leads out, at the top",
      [{ path: "src/out", kind: "link", isFlagged: true }, created("a", 1)],
      (root) => {
        write(root, "a");
        symlinkSync("/etc", join(root, "src/out"));
      },
    ],
    [
      "a hook, at the top",
      [{ path: ".git/hooks/pre-commit", kind: "created", size: 1, isFlagged: true }, created("a", 1)],
      (root) => {
        write(root, "a");
        write(root, ".git/hooks/pre-commit");
      },
    ],
    [
      "a hook's mode",
      [{ path: ".git/hooks/old", kind: "mode", isFlagged: true }],
      (root) => chmodSync(join(root, ".git/hooks/old"), 0o755),
    ],
    [
      "the folder of a hook that came and went",
      [
        { path: ".git/hooks/", kind: "came-and-went", isFlagged: true },
        { path: ".git/", kind: "changed" },
      ],
      (root) => {
        const hook = join(root, ".git/hooks/pre-commit");
        writeFileSync(hook, "evil");
        unlinkSync(hook);
        utimesSync(join(root, ".git/hooks/old"), 1, 1);
      },
    ],
    [
      "the folder of a hook that came and went, and whose time was set back",
      [{ path: ".git/hooks/", kind: "changed", isFlagged: true }],
      (root) => {
        const hook = join(root, ".git/hooks/pre-commit");
        writeFileSync(hook, "evil");
        unlinkSync(hook);
        utimesSync(join(root, ".git/hooks"), 1, 1);
      },
    ],
    [
      "the folder of a file that came and went",
      [{ path: "src/", kind: "came-and-went" }],
      (root) => {
        write(root, "src/x");
        unlinkSync(join(root, "src/x"));
      },
    ],
    ["a file that another of its name replaced", [{ path: "src/a.ts", kind: "changed", size: 1 }], replaceFile],
    [
      "a renamed folder of dependencies, and the folder around it",
      [
        { path: "node_modules/", kind: "came-and-went" },
        { path: "node_modules/two/", kind: "changed" },
      ],
      (root) => renameSync(join(root, "node_modules/one"), join(root, "node_modules/two")),
    ],
    ["a new file of a dependency", [created("node_modules/one/x", 1)], (root) => write(root, "node_modules/one/x")],
    [
      "a git folder once",
      [{ path: ".git/", kind: "changed" }],
      (root) => void [1, 2].map((at) => write(root, `.git/objects/${at}`)),
    ],
    ["nothing that was only read", [], (root) => readFileSync(join(root, "src/a.ts"))],
  ])("have %s", async (_what, changes, work) => {
    const { first, more } = await watch(work);

    expect(first.map(withoutSizeOfLink)).toEqual(changes);
    expect(more).toBe(0);
  });
});

describe("a record of changed files", () => {
  it("counts files, and the changes that it leaves out", async () => {
    const files = await watch((root) => {
      for (let index = 0; index < 600; index++) write(root, `many/${index}`);
      write(root, ".envrc");
    });

    expect(files.first).toHaveLength(500);
    expect(files.first[0]).toMatchObject({ path: ".envrc", isFlagged: true });
    expect(files).toMatchObject({ files: 601, more: 102 });
  });

  it("has only printable names on one line, none of them long", async () => {
    const { first } = await watch((root) => {
      write(root, "a\n[budgie] all is well\u001B[2J\u202E");
      write(root, "x".repeat(200).concat("/", "y".repeat(200)));
    });

    expect(first.map(({ path }) => path)).toContain("a [budgie] all is well");
    for (const { path } of first) expect(Buffer.byteLength(path)).toBeLessThan(310);
  });

  it("says which part of the directory was not read", async () => {
    const { unknown } = await watch((root) => {
      let folder = root;
      for (let level = 0; level < 66; level++) folder = join(folder, "d");
      mkdirSync(folder, { recursive: true });
    });

    expect(unknown).toMatch(/^of "d\/d\/.*, it lies more than 64 folders deep$/);
  });
});

async function watch(work: (root: string) => void): Promise<ChangedFiles> {
  const root = createTemporaryFolder();
  write(root, "src/a.ts");
  write(root, "src/deep/d.ts");
  write(root, ".git/hooks/old");
  write(root, ".git/objects/old");
  write(root, "node_modules/one/a.js");
  const watched = watchExecutablePaths(root);
  await watched.ready;
  work(root);
  const { files } = await watched.findChanges();
  if (files === undefined) throw new TypeError("The watch has no files.");
  return files;
}

function created(path: string, size?: number): ChangedFile {
  return { path, kind: "created", ...(size === undefined ? {} : { size }) };
}

function write(root: string, path: string, content = "x"): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function replaceFile(root: string): void {
  write(root, "src/a.tmp");
  renameSync(join(root, "src/a.tmp"), join(root, "src/a.ts"));
}

function withoutSizeOfLink({ size, ...change }: ChangedFile): ChangedFile {
  return size === undefined || change.kind === "link" || change.kind === "mode" ? change : { ...change, size };
}
