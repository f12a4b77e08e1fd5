import { execFileSync } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { CopyReport } from "@budgie/core/errors";
import { describe, expect, it } from "vitest";
import { createBudgieUser, TEST_IMAGE, toEngineVariables } from "../../helpers/start-budgie.ts";
import { GIT_VARIABLES } from "./git-variables.ts";

describe("budgie changes bundle", () => {
  it("brings an agent's commits home by a git in a container, and leaves the directory as it was", async () => {
    await using user = await createBudgieUser();
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-C", user.workspace, ...args], { encoding: "utf8", env: GIT_VARIABLES });
    git("init", "-q", "-b", "main");
    git("commit", "-q", "--allow-empty", "-m", "the user's");
    const { ask, client, ended } = await user.serve({ sandbox: true, args: ["--workspace", "copy"] });
    const hostile = "git config core.fsmonitor 'touch evil'; git config uploadpack.packObjectsHook 'touch evil'";
    const commit = "echo hello >note.txt; git add .; git -c user.name=a -c user.email=a@b commit -qm theirs";

    // The copy of a later session lies over a base.
    await ask("shell-worker", { prompt: "[[run: true]]" });
    const asked = await ask("shell-worker", { prompt: `[[run: git checkout -qb topic; ${commit}; ${hostile}]]` });
    const { copy } = asked.structuredContent as { copy: CopyReport };
    const id = copy.changes?.changeId ?? "";
    const file = join(user.host.home, "agent.bundle");
    const bundle = () =>
      user.command(["changes", "bundle", id, file, "--sandbox-image", TEST_IMAGE], toEngineVariables());
    const written = await bundle();
    const { mode } = statSync(file);
    const again = await bundle();
    git("fetch", "-q", file, "refs/heads/topic:refs/heads/theirs");
    // Its sessions go with it.
    await client.close();
    await ended;
    rmSync(file);
    const gone = await bundle();

    expect(copy.changes).toMatchObject({ commits: ["refs/heads/topic"] });
    expect(toRemarks(asked)).toContain(`"budgie changes bundle ${id.slice(0, 8)}" brings them to the user`);
    expect(written).toMatchObject({ exitCode: 0, stderr: "" });
    expect(written.stdout).toContain("refs/heads/topic:refs/heads/budgie/");
    expect(mode & 0o777).toBe(0o600);
    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("EEXIST") });
    expect(git("log", "--format=%s", "theirs")).toBe("theirs\nthe user's\n");
    expect(git("status", "--porcelain")).toBe("");
    expect(gone).toMatchObject({ stderr: expect.stringContaining("is gone") });
    expect(existsSync(file)).toBe(false);
  });
});

function toRemarks({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
