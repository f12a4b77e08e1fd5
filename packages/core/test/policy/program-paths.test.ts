import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProtectablePaths } from "../../src/changes/find-protectable-paths.ts";
import { compareSnapshots, takeSnapshot } from "../../src/changes/snapshot.ts";
import { REPOSITORY_PATHS } from "../../src/policy/program-paths.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

/** Each path that a sandbox hides, with a file there, and the path that is protected for it. */
const HIDDEN = Object.entries(REPOSITORY_PATHS).flatMap(([name, cover]): readonly (readonly [string, string])[] => {
  if (typeof cover !== "object" || !("entries" in cover)) return [toFile(name, cover)];
  return Object.entries(cover.entries).map(([entry, inner]) => {
    const [file] = toFile(`${name}/${entry}`, inner);
    // A forge's other entries are the project's, so that it is not protected as a whole.
    return [file, name === ".github" ? `${name}/${entry}` : name];
  });
});

function toFile(path: string, cover: unknown): readonly [string, string] {
  return [typeof cover === "object" && cover !== null && "content" in cover ? path : `${path}/a/b.json`, path];
}

describe.each(HIDDEN)("the hidden path of %s", (file, protectedPath) => {
  it("is reported when it changes, and can be protected", async () => {
    const root = createTemporaryFolder();
    const before = await takeSnapshot(root);
    write(root, file);

    const changes = compareSnapshots(before, await takeSnapshot(root));

    expect(changes.map(({ path }) => path)).toEqual([file]);
    expect(await findProtectablePaths(root)).toEqual([protectedPath]);
  });
});

describe("a path that only tells an agent about a project", () => {
  it.each([".github/copilot-instructions.md", "AGENTS.md", "kilo.md"])("is not reported: %s", async (file) => {
    const root = createTemporaryFolder();
    const before = await takeSnapshot(root);
    write(root, file);

    expect(compareSnapshots(before, await takeSnapshot(root))).toEqual([]);
    expect(await findProtectablePaths(root)).toEqual([]);
  });
});

function write(root: string, path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), "{}");
}
