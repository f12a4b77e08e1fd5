import { mkdirSync, openSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { watchExecutablePaths } from "../../src/changes/watch-executable-paths.ts";
import { openChildFolder, type FolderHandle, type OpenFolder } from "../../src/walk/open-folder.ts";
import { createRepository, write } from "./executable-repository.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("reported paths", () => {
  it("are not those of a folder that was swapped in", async () => {
    const [workspace, home] = [createRepository(), createTemporaryFolder()];
    write(home, ".envrc", "private");
    write(home, ".vscode/private", "private");
    mkdirSync(join(workspace, "src/folder"));
    const watch = watchExecutablePaths(workspace, exchanging(workspace, home));
    await watch.ready;

    const { changedExecutablePaths, warnings } = await watch.findChanges();

    expect(changedExecutablePaths).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('("src/folder": it cannot be read (ENOTDIR)')]);
  });

  it("would be if folders were opened by path", async () => {
    const [workspace, home] = [createRepository(), createTemporaryFolder()];
    write(home, ".envrc", "private");
    mkdirSync(join(workspace, "src/folder"));
    const exchange = exchanging(workspace, home, (path) => opendirHeld(path));
    const watch = watchExecutablePaths(workspace, exchange);
    await watch.ready;

    expect((await watch.findChanges()).changedExecutablePaths).toEqual(["src/folder/.envrc"]);
  });

  /** Opens folders, and replaces one of them by a symlink right before it is opened after the turn. */
  function exchanging(workspace: string, home: string, follow?: (path: string) => Promise<FolderHandle>): OpenFolder {
    let times = 0;
    return async (parent, name) => {
      if (name.toString() !== "folder" || ++times < 2) return openChildFolder(parent, name);
      const path = join(workspace, "src/folder");
      rmSync(path, { recursive: true });
      symlinkSync(home, path);
      return follow === undefined ? openChildFolder(parent, name) : follow(path);
    };
  }

  async function opendirHeld(path: string): Promise<FolderHandle> {
    return { fd: openSync(path, "r"), at: Buffer.from(path) };
  }
});

describe("a workspace is not searched completely, and the turn is told so, if", () => {
  it("folders lie too deep", async () => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    mkdirSync(join(workspace, "d/".repeat(70)), { recursive: true });

    expect((await watch.findChanges()).warnings).toEqual([
      expect.stringContaining("it lies more than 64 folders deep"),
    ]);
  });
});
