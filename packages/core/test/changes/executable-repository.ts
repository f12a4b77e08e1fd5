import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

/** Creates a repository with files that the host runs, and others. */
export function createRepository(): string {
  const root = createTemporaryFolder();
  git(root, "init", "--quiet");
  write(root, "src/a.ts", "a");
  write(root, "package.json", toPackage({ test: "vitest" }));
  write(root, ".git/hooks/old", "old");
  write(root, ".vscode/tasks.json", "[]");
  symlinkSync("../src", join(root, ".vscode/link"));
  return root;
}

/** Returns the text of a package.json. */
export function toPackage(scripts: Readonly<Record<string, string>>, version = "1"): string {
  return JSON.stringify({ version, scripts });
}

/** Writes a file, and creates its folders. */
export function write(root: string, path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

/** Replaces .git with a file. */
export function replaceGit(root: string): void {
  renameSync(join(root, ".git"), join(root, "src/other"));
  write(root, ".git", "gitdir: src/other");
  rmSync(join(root, "src/other"), { recursive: true });
}

/** Commits the content of src. */
export function commit(root: string): void {
  git(root, "add", "src");
  git(root, "-c", "user.name=me", "-c", "user.email=me@x.example", "commit", "--quiet", "--message", "x");
}

/** Runs git. */
export function git(root: string, ...argv: readonly string[]): void {
  execFileSync("git", [...argv], { cwd: root, stdio: "pipe" });
}
