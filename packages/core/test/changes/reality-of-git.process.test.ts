import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { watchExecutablePaths } from "../../src/changes/watch-executable-paths.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

/** Changes a workspace as an agent can, so that git runs the command. */
type Attack = (workspace: string, command: string) => void;

// Each with the path that must be reported first.
const ATTACKS: readonly (readonly [string, string, Attack])[] = [
  [
    "commondir",
    ".git/commondir",
    (root, command) => {
      cpSync(join(root, ".git"), join(root, "evil"), { recursive: true });
      configure(join(root, "evil/config"), command);
      writeFileSync(join(root, ".git/commondir"), "../evil\n");
    },
  ],
  [
    "config.worktree",
    ".git/config.worktree",
    (root, command) => configure(join(root, ".git/config.worktree"), command),
  ],
  [
    "a .git that is a file",
    ".git",
    (root, command) => {
      renameSync(join(root, ".git"), join(root, "other"));
      configure(join(root, "other/config"), command);
      writeFileSync(join(root, ".git"), "gitdir: other\n");
    },
  ],
  [
    "a .git that is a link",
    ".git",
    (root, command) => {
      renameSync(join(root, ".git"), join(root, "other"));
      configure(join(root, "other/config"), command);
      symlinkSync("other", join(root, ".git"));
    },
  ],
  ["an included file", "included", (root, command) => configure(join(root, "included"), command)],
  [
    "a program that the configuration names",
    "tools/monitor",
    (root, command) => script(root, "tools/monitor", command),
  ],
  ["a hook where core.hooksPath has them", "tools/hooks/post-index-change", hook],
  [
    "a submodule's configuration",
    "sub/.git/config",
    (root, command) => {
      git(root, "init", "--quiet", "sub");
      git(join(root, "sub"), ...AUTHOR, "commit", "--quiet", "--allow-empty", "--message", "x");
      // By the index alone, which no protection can cover.
      git(root, "add", "sub");
      configure(join(root, "sub/.git/config"), command);
    },
  ],
];

describe("the path that makes git status run a command is reported first, by", () => {
  it.each(ATTACKS)("%s", async (_what, path, attack) => {
    const workspace = createRepository();
    const mark = join(createTemporaryFolder(), "mark");
    const watch = watchExecutablePaths(workspace);
    await watch.ready;

    attack(workspace, `touch '${mark}'; false`);

    const { changedExecutablePaths, gitChanges } = await watch.findChanges();
    git(workspace, "status");
    expect(existsSync(mark)).toBe(true);
    expect(changedExecutablePaths[0]).toBe(path);
    expect(gitChanges).not.toEqual([]);
  });
});

const AUTHOR = ["-c", "user.name=me", "-c", "user.email=me@x.example"];

function createRepository(): string {
  const root = createTemporaryFolder();
  git(root, "init", "--quiet");
  for (const [name, value] of [
    ["extensions.worktreeConfig", "true"],
    ["include.path", "../included"],
    ["core.fsmonitor", "tools/monitor"],
    ["core.hooksPath", "tools/hooks"],
  ] as const)
    git(root, "config", name, value);
  writeFileSync(join(root, "a"), "a");
  git(root, "add", "a");
  git(root, ...AUTHOR, "commit", "--quiet", "--message", "x");
  return root;
}

function configure(file: string, command: string): void {
  git(dirname(file), "config", "--file", file, "core.fsmonitor", command);
}

function hook(root: string, command: string): void {
  script(root, "tools/hooks/post-index-change", command);
  // Makes git status rewrite the index.
  utimesSync(join(root, "a"), 0, 0);
}

function script(root: string, path: string, command: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
}

function git(cwd: string, ...argv: readonly string[]): void {
  execFileSync("git", argv, { cwd, stdio: "pipe" });
}
