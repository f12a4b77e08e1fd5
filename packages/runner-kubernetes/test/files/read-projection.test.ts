import { mkdirSync, mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readHomeCovers } from "../../src/files/read-home-covers.ts";

let root: string;
beforeEach(() => void (root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-projection-")))));
afterEach(() => rmSync(root, { recursive: true }));

function make(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
}

const fill = (folder: string, count: number): void =>
  make(...Array.from({ length: count }, (_, index) => `${folder}/${index}`));

const read = (...names: readonly string[]) =>
  readHomeCovers({ projections: names.map((name) => ({ source: join(root, name), home: `.kiro/${name}` })) });

describe("a projection with more than is sent", () => {
  it.each([
    ["a large file", () => truncateSync(join(root, "skills/one"), 33 * 2 ** 20)],
    [
      "large files together",
      () => ["one", "two"].map((name) => writeFileSync(join(root, "skills", name), Buffer.alloc(17 * 2 ** 20))),
    ],
    ["many files", () => fill("skills", 2_000)],
    ["many files together", () => ["skills/a", "skills/b"].forEach((folder) => fill(folder, 1_001))],
  ])("is refused for %s, with what to do", async (_, grow) => {
    make("skills/one");
    grow();

    await expect(read("skills")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/skills".*2000 files or 32 MiB.*Remove some/),
    });
  });

  it("leaves only the rest of the room to the next one", async () => {
    make("a/one", "b/one");
    for (const name of ["a", "b"]) truncateSync(join(root, name, "one"), 17 * 2 ** 20);

    expect((await read("a")).paths).toEqual([".kiro/a"]);
    await expect(read("a", "b")).rejects.toMatchObject({
      message: expect.stringContaining(`"${join(root, "b")}"`),
    });
  });
});
