import { describe, expect, it } from "vitest";
import { findGuard, hasGitName } from "@budgie/core/guard";

const nowhere = (): boolean => false;

describe("a name", () => {
  it.each([
    ".git",
    ".GIT",
    ".Git",
    ".git.",
    ".git ",
    ".git. .",
    ".g\u200cit",
    "GIT~1",
    ".git::$INDEX_ALLOCATION",
    "．git",
  ])("that some file system takes for .git is git's: %j", (name) => {
    expect(hasGitName(name)).toBe(true);
  });

  it.each([".gitignore", ".github", "git", "x.git", ".git2", "git~x"])("beside .git is not git's: %j", (name) => {
    expect(hasGitName(name)).toBe(false);
  });
});

describe("the guard of a changed path", () => {
  it.each([
    ["src/.git/hooks/pre-commit", "never"],
    ["a/.GIT", "never"],
    [".husky/pre-push", "person"],
    [".vscode/tasks.json", "person"],
    [".github/workflows/ci.yml", "person"],
    ["docs/AGENTS.md", "person"],
    ["CLAUDE.md", "person"],
    ["AGENT\u017f.md", "person"],
    [".hu\u200dsky/pre-push", "person"],
    ["GEMINI.md", "person"],
    [".cursorrules", "person"],
    ["crates/a/.cargo/config.toml", "person"],
    ["app.code-workspace", "person"],
    ["web/package.json", "scripts"],
    ["build.rs", "told"],
    ["eslint.config.mjs", "told"],
    ["app/build.gradle.kts", "told"],
    ["package-lock.json", "told"],
    ["src/main.ts", undefined],
    ["hooks/pre-commit", undefined],
  ])("of %s is %s", (path, guard) => {
    expect(findGuard(path, nowhere)).toBe(guard);
  });

  it("of a bare repository's hooks and configuration is for a person", () => {
    const isRepository = (folder: string): boolean => folder === "store";

    expect(findGuard("store/config", isRepository)).toBe("person");
    expect(findGuard("store/hooks/post-update", isRepository)).toBe("person");
    expect(findGuard("store/config", nowhere)).toBe(undefined);
  });
});
