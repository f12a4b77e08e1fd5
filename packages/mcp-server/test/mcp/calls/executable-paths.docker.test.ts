import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudgieUser, toText, type Served, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

const sandbox = true;
const PROTECT = ["--protect-executable-paths"];

// Each attack with the content of the workspace's file after its success.
const ATTACKS = [
  ["adds a git hook", "echo evil >.git/hooks/pre-commit", ".git/hooks/pre-commit"],
  ["rewrites git's configuration", "echo evil >.git/config", ".git/config"],
  ["puts another file in place of it", "echo evil >.git/new && mv .git/new .git/config", ".git/config"],
  ["puts another folder in place of .git", "mv .git moved; mkdir -p .git; echo evil >.git/config", ".git/config"],
  ["changes an editor's task", "echo evil >.vscode/tasks.json", ".vscode/tasks.json"],
  [
    "removes it and writes another",
    "rm -rf .vscode; mkdir .vscode; echo evil >.vscode/tasks.json",
    ".vscode/tasks.json",
  ],
  [
    "moves a workflow's parent",
    "mv .github x; mkdir -p .github/workflows; echo evil >.github/workflows/a",
    ".github/workflows/a",
  ],
  [
    "lifts the protection",
    "umount /workspace/.vscode; chmod -R a+w .vscode; echo evil >.vscode/tasks.json",
    ".vscode/tasks.json",
  ],
] as const;

// Every test has a workspace and a session of its own.
let user: BudgieUser;
let plain: Served;
let guarded: Served;
beforeAll(async () => {
  user = await createBudgieUser();
  [plain, guarded] = await Promise.all([user.serve({ sandbox }), user.serve({ sandbox, args: PROTECT })]);
});
afterAll(() => user[Symbol.asyncDispose]());

describe("an agent that", () => {
  it.each(ATTACKS)("%s can do so, and is reported", async (_what, script, path) => {
    const directory = createRepository();

    const { structuredContent } = await plain.ask("shell-worker", {
      directory,
      prompt: `[[run: { ${script}; } 2>&1; true]]`,
    });

    expect(readFileSync(join(directory, path), "utf8")).toBe("evil\n");
    expect(structuredContent?.["changedExecutablePaths"]).toContain(path);
  });

  it.each(ATTACKS)("%s cannot when the files are protected", async (_what, script, path) => {
    const directory = createRepository();

    const answer = await guarded.ask("shell-worker", { directory, prompt: `[[run: { ${script}; } 2>&1; echo tried]]` });

    const file = join(directory, path);
    expect(toText(answer)).toContain("tried");
    expect(existsSync(file) ? readFileSync(file, "utf8") : "").not.toContain("evil");
    expect(answer.structuredContent).not.toHaveProperty("changedExecutablePaths");
  });
});

describe("--protect-executable-paths", () => {
  it("lets the agent edit and commit other files", async () => {
    const directory = createRepository();
    const script = "echo code >a.ts; echo x >.git/index.lock; mv .git/index.lock .git/index; cat a.ts .git/index";

    expect(toText(await guarded.ask("shell-worker", { directory, prompt: `[[run: ${script}]]` }))).toBe("code\nx");
  });

  it("cannot protect missing paths, which are reported when they appear", async () => {
    const directory = createRepository();

    const { structuredContent } = await guarded.ask("shell-worker", { directory, prompt: "[[write .envrc: evil]]" });

    expect(structuredContent?.["changedExecutablePaths"]).toEqual([".envrc"]);
  });

  it("fails a turn that redirects git through a missing path, and says how", async () => {
    const directory = createRepository();

    const answer = await guarded.ask("shell-worker", { directory, prompt: "[[write .git/commondir: ../evil]]" });

    expect(toText(answer)).toMatch(
      /GIT_REDIRECTED: .*"\.git\/commondir" was changed: git reads hooks and configuration/,
    );
    expect(answer.structuredContent).toMatchObject({ changedExecutablePaths: [".git/commondir"] });
    expect(answer.structuredContent).toHaveProperty("sessionId");
  });

  it("refuses a workspace if one of them is a symlink, and names it", async () => {
    const directory = createWorkspace();
    symlinkSync("elsewhere", join(directory, ".vscode"));

    const answer = await guarded.ask("shell-worker", { directory, prompt: "Hello" });

    expect(toText(answer)).toMatch(/^WORKSPACE_INVALID: /);
    expect(toText(answer)).toContain(`"${join(directory, ".vscode")}"`);
  });
});

describe("a turn that creates symlinks", () => {
  it("is answered with those that lead out of the workspace", async () => {
    const directory = createWorkspace();

    const answer = await plain.ask("shell-worker", { directory, prompt: "[[run: ln -s /etc/passwd out; ln -s . in]]" });

    expect(answer.structuredContent?.["warnings"]).toContain(
      'New links lead out of the workspace: "out" to "/etc/passwd".',
    );
  });
});

describe("a turn that fails", () => {
  it("also reports its changes", async () => {
    const directory = createRepository();

    const answer = await plain.ask("shell-worker", {
      directory,
      prompt: "[[write .git/hooks/pre-push: evil]] [[fault kill-self]]",
    });

    expect(answer.structuredContent).toMatchObject({ changedExecutablePaths: [".git/hooks/pre-push"] });
    expect(toText(answer)).toContain("Files that your machine runs by itself were changed: .git/hooks/pre-push.");
  });
});

function createWorkspace(): string {
  return mkdtempSync(join(user.host.home, "workspace-"));
}

function createRepository(): string {
  const directory = createWorkspace();
  execFileSync("git", ["init", "--quiet"], { cwd: directory });
  for (const folder of [".vscode", ".github/workflows", ".kiro/agents"])
    mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(join(directory, ".vscode/tasks.json"), "[]");
  return directory;
}
