import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { watchExecutablePaths } from "../../src/changes/watch-executable-paths.ts";
import { createRepository, write } from "./executable-repository.ts";

type Change = (workspace: string) => void;

describe("privileged files are reported first when a turn", () => {
  it.each<[string, string, Change]>([
    ["makes one setuid", "src/a.ts", (root) => chmodSync(join(root, "src/a.ts"), 0o4755)],
    ["makes one setgid", "src/a.ts", (root) => chmodSync(join(root, "src/a.ts"), 0o2755)],
    [
      "hides one in a folder that is not searched for executables",
      ".git/objects/x",
      (root) => (write(root, ".git/objects/x", "x"), chmodSync(join(root, ".git/objects/x"), 0o4755)),
    ],
  ])("%s", async (_what, path, change) => {
    const workspace = createRepository();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    write(workspace, ".envrc", "evil");
    change(workspace);

    const { changedExecutablePaths, warnings } = await watch.findChanges();
    expect(changedExecutablePaths).toEqual([path, ".envrc"]);
    expect(warnings).toEqual([expect.stringMatching(`^"${path}" is a set[ug]id file: it runs with the rights of`)]);
  });

  it("changes one, but not if it was privileged before", async () => {
    const workspace = createRepository();
    chmodSync(join(workspace, "src/a.ts"), 0o4755);
    await sleep(30);
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    expect(await watch.findChanges()).toMatchObject({ changedExecutablePaths: [], warnings: [] });
  });
});

describe("symlinks are reported when a turn", () => {
  it.each<[string, string, string]>([
    ["makes one to an absolute path", "link", "/etc"],
    ["replaces a folder by one", "src/link", "../../x"],
    ["makes one that leads out through others", "link", "src/up/../../x"],
    ["makes one through one that leads out", "link", "outside/x"],
  ])("%s", async (_what, path, target) => {
    const workspace = createWithLinks();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    symlinkSync(target, join(workspace, path));

    expect((await watch.findChanges()).warnings).toEqual([
      `New links lead out of the workspace: "${path}" to "${target}".`,
    ]);
  });

  it.each(["a.ts", "../src/a.ts", "../src/up/a", ".", "nowhere/../a.ts", "a".repeat(300)])(
    "creates one, but not if it stays inside: %s",
    async (target) => {
      const workspace = createWithLinks();
      const watch = watchExecutablePaths(workspace);
      await watch.ready;

      symlinkSync(target, join(workspace, "src/link"));
      symlinkSync(join(workspace, "src"), join(workspace, "absolute"));

      expect((await watch.findChanges()).warnings).toEqual([]);
    },
  );

  it("creates many, up to ten by name and the rest as a count", async () => {
    const workspace = createWithLinks();
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    for (let index = 0; index < 250; index++) symlinkSync("/etc", join(workspace, `${index}`));

    expect((await watch.findChanges()).warnings).toEqual([expect.stringMatching(/" to "\/etc" and 240 more\.$/)]);
  });

  /** Creates a repository with two older symlinks: one leads out, one to its folder's parent, which is inside. */
  function createWithLinks(): string {
    const workspace = createRepository();
    symlinkSync("/etc", join(workspace, "outside"));
    symlinkSync("..", join(workspace, "src/up"));
    return workspace;
  }
});
