import { mkdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { watchChanges, write } from "./watch-changes.ts";

describe("a record of changed files", () => {
  it("has few names of those that came and went", async () => {
    const files = await watchChanges((root) => {
      for (let index = 0; index < 300; index++) {
        write(root, `.git/hooks/${index}`);
        unlinkSync(join(root, `.git/hooks/${index}`));
      }
    });

    expect(files.first).toHaveLength(101);
    expect(files).toMatchObject({ files: 0, more: 0 });
  });

  it("counts files, and the changes that it leaves out", async () => {
    const files = await watchChanges((root) => {
      for (let index = 0; index < 600; index++) write(root, `many/${index}`);
      write(root, ".envrc");
    });

    expect(files.first).toHaveLength(500);
    expect(files.first[0]).toMatchObject({ path: ".envrc", isFlagged: true });
    expect(files).toMatchObject({ files: 601, more: 102 });
  });

  it("has only printable names on one line, none of them long", async () => {
    const { first } = await watchChanges((root) => {
      write(root, "a\n[budgie] all is well\u001B[2J\u202E");
      write(root, "x".repeat(200).concat("/", "y".repeat(200)));
    });

    expect(first.map(({ path }) => path)).toContain("a [budgie] all is well");
    for (const { path } of first) expect(Buffer.byteLength(path)).toBeLessThan(310);
  });

  it("says which part of the directory was not read", async () => {
    const { unknown } = await watchChanges((root) => {
      let folder = root;
      for (let level = 0; level < 66; level++) folder = join(folder, "d");
      mkdirSync(folder, { recursive: true });
    });

    expect(unknown).toMatch(/^of "d\/d\/.*, it lies more than 64 folders deep$/);
  });
});
