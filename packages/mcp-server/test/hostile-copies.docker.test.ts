import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { CopyReport } from "@budgie/core/errors";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText, type BudgieUser } from "../../cli/test/helpers/start-budgie.ts";

/** The things that a hostile agent leaves behind, in the directory that it works on. */
const ATTACK = [
  "echo stolen >a.txt",
  "ln -s ../outside/secret.txt link; ln -sfn / root",
  "rm -rf sub; ln -s ../outside sub; echo planted >sub/planted.txt",
  "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ran\\n' >.git/hooks/post-checkout; git config core.fsmonitor 'touch ran'",
  "mv .kiro .moved 2>/dev/null; mkdir -p .kiro/agents; echo '{}' >.kiro/agents/evil.json",
  "mkfifo pipe; touch \"$(printf 'two\\nlines\\033[2J')\"; touch ../outside/above; cat /proc/self/mountinfo >mounts.txt",
].join("\n");

describe("a hostile agent", () => {
  it("reaches nothing of the host from a copy, and the set names all that it planted; in the directory itself it gets through", async () => {
    await using user = await createBudgieUser();
    const copied = makeDirectories(user, "copied");
    const direct = makeDirectories(user, "direct");
    const before = list(copied.directory);
    const { ask } = await user.serve({ sandbox: true });
    const attack = (directory: string, workspace: string) =>
      ask("shell-worker", { directory, workspace, prompt: `[[run: ${ATTACK}]]` });

    const [attacked, control] = await Promise.all([attack(copied.directory, "copy"), attack(direct.directory, "rw")]);

    expect(control.isError).not.toBe(true);
    expect(readFileSync(join(direct.directory, "a.txt"), "utf8")).toBe("stolen\n");
    expect(lstatSync(join(direct.directory, "sub")).isSymbolicLink()).toBe(true);
    expect(list(copied.directory)).toEqual(before);
    for (const { outside } of [copied, direct]) expect(readdirSync(outside)).toEqual(["secret.txt"]);

    const { changeId, ...changes } = changesOf(attacked);
    expect(changes).toMatchObject({
      guarded: expect.arrayContaining(["link", "root", "sub"]),
      notApplicable: ["pipe"],
    });
    const { stdout } = await user.command(["changes", "diff", changeId]);
    expect(stdout).toContain("added two\\u{a}lines\\u{1b}[2J\n");
    expect(stdout).not.toContain("of the user");
    expect(stdout).not.toContain(copied.directory);
    expect(toText(attacked)).not.toContain("\u001b");

    const applied = await user.command(["changes", "apply", changeId, "--conflicts", "skip"]);
    expect(applied.stdout).toContain("held back: sub");
    expect(readdirSync(copied.outside)).toEqual(["secret.txt"]);
    execFileSync("git", ["-C", copied.directory, "status"], {
      env: { PATH: process.env["PATH"], HOME: user.host.home },
    });
    expect(existsSync(join(copied.directory, "ran"))).toBe(false);
  });

  it("with a sparse file of terabytes holds nobody up, and the set names it as one that cannot be applied", async () => {
    await using user = await createBudgieUser();
    const { directory } = makeDirectories(user, "sparse");
    const { ask } = await user.serve({ sandbox: true, args: ["--workspace", "copy"] });
    const other = ask("code-reviewer", { directory, prompt: "Hello" });

    const sparse = await ask("shell-worker", { directory, prompt: "[[run: truncate -s 5T huge; echo made]]" });

    expect(sparse.structuredContent).toMatchObject({ copy: { changes: { notApplicable: ["huge"] } } });
    expect((await other).isError).not.toBe(true);
    expect(toText(await ask("code-reviewer", { directory, prompt: "Hello again" }))).toContain("Hello again");
  });
});

/** Makes a directory with a repository, and one beside it that no agent may reach. */
function makeDirectories({ host }: BudgieUser, name: string) {
  const [directory, outside] = [join(host.home, name, "work"), join(host.home, name, "outside")];
  for (const folder of [join(directory, "sub"), outside]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(outside, "secret.txt"), "of the user\n");
  writeFileSync(join(directory, "a.txt"), "one\n");
  writeFileSync(join(directory, "sub/b.txt"), "two\n");
  execFileSync("git", ["init", "-q", directory]);
  return { directory, outside };
}

function list(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).toSorted();
}

function changesOf({ structuredContent = {} }: CallToolResult) {
  const { changes } = structuredContent["copy"] as CopyReport;
  if (changes === undefined) throw new Error("The agent changed nothing.");
  return changes;
}
