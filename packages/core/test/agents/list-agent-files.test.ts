import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { listAgentFiles } from "../../src/agents/list-agent-files.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("listAgentFiles", () => {
  it("lists the files of a folder before those of the folders in it, each by its name", () => {
    const folder = create(
      "b.md",
      "a.json",
      "b/z.md",
      "a/y.json",
      "a/b/x.md",
      "c.txt",
      "d.json.bak",
      "._e.md",
      ".#f.json",
    );

    expect(listAgentFiles(folder)).toEqual({
      files: ["a.json", "b.md", "a/y.json", "b/z.md", "a/b/x.md"].map((name) => ({
        file: join(folder, name),
        path: name.replace(/\.\w+$/, ""),
      })),
      problems: [],
    });
  });

  it("follows a symlink to a folder, and ends with links in a circle", () => {
    const [folder, dotfiles] = [create("a.md"), create("b.md")];
    symlinkSync(dotfiles, join(folder, "team"));
    symlinkSync(folder, join(dotfiles, "back"));
    symlinkSync("nowhere", join(folder, "gone"));

    expect(toPaths(folder)).toEqual(["a", "team/b"]);
  });

  it("reports once what lies deeper than four folders", () => {
    const folder = create("a/b/c/d/in.md", "a/b/c/d/e/out.md", "a/b/c/d/f/out.md");

    expect(toPaths(folder)).toEqual(["a/b/c/d/in"]);
    expect(listAgentFiles(folder).problems).toEqual([
      `Skipped the agent files in "${folder}" deeper than 4 folders. Move other files elsewhere.`,
    ]);
  });

  it("reports more than a thousand files", () => {
    const folder = create(...Array.from({ length: 1001 }, (_, index) => `a${index}.md`));

    expect(toPaths(folder)).toHaveLength(1000);
    expect(listAgentFiles(folder).problems).toEqual([expect.stringContaining("after the first 1000. Move")]);
  });

  it("reports more than ten thousand entries, and looks at no more", () => {
    const folder = create("a.md", "z/b.md");
    mkdirSync(join(folder, "notes"));
    for (let index = 0; index < 10_000; index += 1) writeFileSync(join(folder, "notes", `${index}.txt`), "");

    expect(toPaths(folder)).toEqual(["a"]);
    expect(listAgentFiles(folder).problems).toEqual([expect.stringContaining("after the first 10000 entries. Move")]);
  });

  it("throws for a folder that cannot be read", () => {
    expect(() => listAgentFiles("/nowhere")).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});

function create(...names: readonly string[]): string {
  const folder = createTemporaryFolder();
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "");
  }
  return folder;
}

function toPaths(folder: string): readonly string[] {
  return listAgentFiles(folder).files.map(({ path }) => path);
}
