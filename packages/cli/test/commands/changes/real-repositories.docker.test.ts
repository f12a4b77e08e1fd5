import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CopyReport } from "@budgie/core/errors";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText } from "../../helpers/start-budgie.ts";

const MODULES = fileURLToPath(new URL("../../../../../node_modules/", import.meta.url));

/** Packages of npm that bring their tests, and how these run. */
const PACKAGES = { rc: "node test/test.js", ssh2: "node test/test-userauth.js", "docker-modem": "node --test" };

describe("two agents at once on copies of each of three real repositories", () => {
  it("are reviewed, one applied, the other discarded, and all is as it was once that is undone", async () => {
    await using user = await createBudgieUser();
    const directories = Object.keys(PACKAGES).map((name) => makeRepository(join(user.host.home, name), name));
    const before = directories.map(look);
    const { ask } = await user.serve({ sandbox: true, args: ["--workspace", "copy"] });

    const asked = Object.values(PACKAGES).flatMap((test, index) =>
      ["first", "second"].map(async (name) => {
        const change = `echo "// ${name}" >>package.json.md; chmod +x package.json; rm README.md; mkdir -p made; date >made/${name}`;
        const commit = "git add -A; git -c user.name=a -c user.email=a@b commit -qm theirs";
        const prompt = `[[run: ${test} >/dev/null 2>&1 && echo passed; ${change}; ${commit}]]`;
        const directory = directories[index] ?? "";
        return ask("shell-worker", { directory, prompt });
      }),
    );
    const results = await Promise.all(asked);
    const ids = results.map(
      ({ structuredContent = {} }) => (structuredContent["copy"] as CopyReport).changes?.changeId ?? "",
    );
    const untouched = directories.map(look);
    const steps: (number | null)[] = [];
    const worked: unknown[] = [];
    for (const [index, directory] of directories.entries()) {
      const [first = "", second = ""] = ids.slice(2 * index);
      const reviewed = await user.command(["changes", "diff", first]);
      const applied = await user.command(["changes", "apply", first]);
      worked.push([reviewed.stdout.includes("+// first"), existsSync(join(directory, "made/first"))]);
      const discarded = await user.command(["changes", "discard", second]);
      const undone = await user.command(["changes", "undo", first]);
      steps.push(...[reviewed, applied, discarded, undone].map(({ exitCode }) => exitCode));
    }

    expect(results.map(toText)).toEqual(Array(6).fill("passed"));
    expect(new Set(ids).size).toBe(6);
    expect(untouched).toEqual(before);
    expect(worked).toEqual(Array(3).fill([true, true]));
    expect(steps).toEqual(Array(12).fill(0));
    expect(directories.map(look)).toEqual(before);
  });
});

/** Makes a repository of a package with all that it depends on, in the middle of somebody's work. */
function makeRepository(directory: string, name: string): string {
  cpSync(join(MODULES, name), directory, { recursive: true });
  for (const needed of listNeeded(name)) {
    const place = join(directory, "node_modules", needed);
    // One that the package has brought is of another version.
    if (!existsSync(place)) cpSync(join(MODULES, needed), place, { recursive: true });
  }
  writeFileSync(join(directory, ".gitignore"), "node_modules\n");
  git(directory, "init", "-qb", "trunk");
  git(directory, "add", "-A");
  git(directory, "commit", "-qm", "begin");
  appendFileSync(join(directory, "package.json"), "\n");
  writeFileSync(join(directory, "package.json.md"), "staged\n", { mode: 0o640 });
  git(directory, "add", "package.json.md");
  writeFileSync(join(directory, "untracked.txt"), "mine\n", { mode: 0o600 });
  return directory;
}

/** Lists the packages that one depends on, and those that they depend on. */
function listNeeded(name: string, known: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  const { dependencies = {} } = JSON.parse(readFileSync(join(MODULES, name, "package.json"), "utf8")) as {
    readonly dependencies?: object;
  };
  return Object.keys(dependencies)
    .filter((needed) => !known.has(needed) && existsSync(join(MODULES, needed)))
    .reduce((all, needed) => new Set([...all, needed, ...listNeeded(needed, new Set([...all, needed]))]), known);
}

/** Returns all that a directory has, its git included, and what git says of it. */
function look(directory: string): readonly string[] {
  const status = git(directory, "status", "--porcelain=v2", "--branch");
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).toSorted();
  return [status, ...names.map((name) => describeEntry(name, join(directory, name)))];
}

function describeEntry(name: string, path: string): string {
  const found = lstatSync(path);
  const content = found.isSymbolicLink() ? readlinkSync(path) : found.isFile() ? readFileSync(path) : "";
  return `${name} ${found.mode.toString(8)} ${createHash("sha256").update(content).digest("hex")}`;
}

function git(directory: string, ...args: readonly string[]): string {
  const who = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
  // A git that looks must not write the index anew.
  const env = {
    PATH: process.env["PATH"],
    HOME: "/nonexistent",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_OPTIONAL_LOCKS: "0",
    ...who,
  };
  return execFileSync("git", args, { cwd: directory, env, encoding: "utf8" });
}
