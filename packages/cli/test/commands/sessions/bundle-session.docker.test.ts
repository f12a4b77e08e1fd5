import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createBudgieUser,
  TEST_IMAGE,
  toEngineVariables,
  type Served,
  type BudgieUser,
} from "../../helpers/start-budgie.ts";
import { GIT_VARIABLES } from "../changes/git-variables.ts";

let user: BudgieUser;
let budgie: Served;
let shop: string;
let web: string;
beforeAll(async () => {
  user = await createBudgieUser();
  shop = join(user.host.home, "code/my shop");
  web = join(shop, "packages/web [1]");
  for (const file of ["README", "packages/api/server", "packages/web [1]/page"]) write(file, `${file}\n`);
  writeFileSync(join(user.host.home, ".gitconfig"), "[user]\n\tname = u\n\temail = u@b\n");
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "the user's");
  git("branch", "other");
  git("checkout", "-q", "other");
  write("packages/web [1]/page", "another\n");
  git("commit", "-qam", "another");
  git("checkout", "-q", "main");
  const config = join(user.host.home, "budgie.json");
  const section = { subfolderGit: true, mounts: [join(shop, "README")] };
  writeFileSync(config, JSON.stringify({ workspaces: { [shop]: section } }));
  budgie = await user.serve({ sandbox: true, args: ["--config", config] });
});
afterAll(() => user[Symbol.asyncDispose]());

function write(path: string, text: string): void {
  mkdirSync(join(shop, path, ".."), { recursive: true });
  writeFileSync(join(shop, path), text);
}

function git(...args: readonly string[]): string {
  return execFileSync("git", ["-C", shop, ...args], { encoding: "utf8", env: GIT_VARIABLES });
}

async function run(script: string, sessionId?: string): Promise<CallToolResult> {
  return budgie.ask("shell-worker", {
    directory: web,
    prompt: `[[run: ${script}]]`,
    ...(sessionId === undefined ? {} : { sessionId }),
  });
}

describe("a part of a repository, with subfolderGit", () => {
  it("has a git of its own, in which a commit of everything leaves the rest and the user's git as they are", async () => {
    // Work of the user's that is no agent's business.
    appendFileSync(join(shop, "packages/api/server"), "staged\n");
    git("add", "packages/api/server");
    appendFileSync(join(web, "page"), "the user's change\n");
    const before = readGit();

    const first = await run(
      "git status --short; git checkout -qb topic; echo >new; git add -A; git commit -qm theirs; git status",
    );
    const { sessionId } = first.structuredContent as { sessionId: string };
    git("gc", "--quiet", "--prune=now");
    const second = await run(
      "git show --name-status --format=%s; git ls-tree -r --name-only --full-tree HEAD; cat ../../README; ls -A ../.. ..",
      sessionId,
    );
    const third = await run(
      "git checkout -q other; cat page; git -C ../.. status --short; touch ../../made /repository.git/objects/made",
      sessionId,
    );

    expect(toText(first)).toMatch(/^ ?M page\nOn branch topic\n.*sparse.*\n\nnothing to commit/s);
    expect(toText(second).split("\n\n[budgie]")[0]).toBe(SECOND);
    expect(toText(third)).toMatch(
      /^another\ntouch: .*made': Read-only file system\ntouch: .*made': Read-only file system\n/,
    );
    expect(readGit()).toEqual(before);
  });

  it("brings an agent's commits home in a bundle", async () => {
    const asked = await run(
      "git checkout -qb bundled; echo >bundled; git add bundled; git commit -qm bundled; git config core.fsmonitor 'touch evil'",
    );
    const { sessionId } = asked.structuredContent as { sessionId: string };
    const file = join(user.host.home, "agent.bundle");

    const written = await user.command(
      ["sessions", "bundle", sessionId, file, "--sandbox-image", TEST_IMAGE],
      toEngineVariables(),
    );
    git("fetch", "-q", file, "refs/heads/bundled:refs/heads/theirs");

    expect(written).toMatchObject({ exitCode: 0, stderr: "" });
    expect(written.stdout).toContain("refs/heads/bundled:refs/heads/budgie/");
    expect(written.stdout).not.toContain("refs/heads/other");
    expect(git("show", "--name-status", "--format=%s", "theirs")).toBe("bundled\n\nA\tpackages/web [1]/bundled\n");
    expect(git("log", "--format=%s", "main..theirs")).toBe("bundled\n");
  });

  it("has no commits to bring home without one", async () => {
    const asked = await run("git status --short");
    const { sessionId } = asked.structuredContent as { sessionId: string };

    const written = await user.command(
      ["sessions", "bundle", sessionId, "--sandbox-image", TEST_IMAGE],
      toEngineVariables(),
    );

    expect(written).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("no commits that the directory's") });
  });
});

const SECOND = `theirs

A	packages/web [1]/new
M	packages/web [1]/page
README
packages/api/server
packages/web [1]/new
packages/web [1]/page
README
..:
web [1]

../..:
.git
README
packages`;

/** Reads all of the user's git but its objects, which `git gc` packs, and what is staged. */
function readGit() {
  const files = ["HEAD", "config", "index"].map((name) => readFileSync(join(shop, ".git", name)).toString("hex"));
  return [
    git("for-each-ref"),
    git("diff", "--cached"),
    readdirSync(join(shop, ".git")).filter((name) => !GC.has(name)),
    ...files,
  ];
}

// git gc writes them.
const GC = new Set(["packed-refs", "gc.pid", "logs"]);

function toText({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
