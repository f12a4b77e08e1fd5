import {
  chmodSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ChangedFile } from "../../src/changed-files.ts";
import { watchChanges, write } from "./files/watch-changes.ts";

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
      "a hook that came and went, one that is as before, and their folder",
      [
        { path: ".git/hooks/pre-commit", kind: "came-and-went", isFlagged: true },
        { path: ".git/hooks/old", kind: "changed", size: 1, isFlagged: true },
        { path: ".git/hooks/", kind: "came-and-went", isFlagged: true },
      ],
      (root) => {
        const hook = join(root, ".git/hooks/pre-commit");
        writeFileSync(hook, "evil");
        unlinkSync(hook);
        utimesSync(join(root, ".git/hooks/old"), 1, 1);
      },
    ],
    [
      "a hook that came and went, and its folder whose time was set back",
      [
        { path: ".git/hooks/pre-commit", kind: "came-and-went", isFlagged: true },
        { path: ".git/hooks/", kind: "changed", isFlagged: true },
      ],
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
    const { first, more } = await watchChanges(work);

    expect(first.map(withoutSizeOfLink)).toEqual(changes);
    expect(more).toBe(0);
  });
});

function created(path: string, size?: number): ChangedFile {
  return { path, kind: "created", ...(size === undefined ? {} : { size }) };
}

function replaceFile(root: string): void {
  write(root, "src/a.tmp");
  renameSync(join(root, "src/a.tmp"), join(root, "src/a.ts"));
}

function withoutSizeOfLink({ size, ...change }: ChangedFile): ChangedFile {
  return size === undefined || change.kind === "link" || change.kind === "mode" ? change : { ...change, size };
}
