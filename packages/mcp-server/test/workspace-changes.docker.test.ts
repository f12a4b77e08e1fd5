import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { CopyChanges } from "@budgie/core/errors";
import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../cli/test/helpers/start-budgie.ts";

describe("an apply of an agent's changes", () => {
  it("writes into the directory what was read and no more, and takes it back with its rights", async () => {
    await using user = await createBudgieUser();
    const [plain, script] = [join(user.workspace, "a.txt"), join(user.workspace, "run.sh")];
    writeFileSync(plain, "one\n", { mode: 0o640 });
    writeFileSync(script, "echo\n", { mode: 0o700 });
    const { ask, client } = await user.serve({ sandbox: true, args: ["--workspace", "copy"] });
    const call = (name: string, input: object): Promise<CallToolResult> =>
      client.callTool({ name: `kiro-subagents.${name}`, arguments: { ...input } }) as Promise<CallToolResult>;
    const look = () => [plain, script].map((path) => [readFileSync(path, "utf8"), statSync(path).mode & 0o7777]);
    const before = look();

    const work =
      "seq 9000 >a.txt; echo more >>run.sh; chmod 600 run.sh; echo obey >AGENTS.md; git init -q . && echo evil >.git/hooks/pre-commit";
    const { structuredContent = {} } = await ask("shell-worker", { prompt: `[[run: ${work}]]` });
    const { changeId } = (structuredContent["copy"] as { readonly changes: CopyChanges }).changes;
    const first = (await call("changes", { changeId })).structuredContent ?? {};
    const last = (await call("changes", { changeId, page: first["pages"] })).structuredContent ?? {};
    const refusals = [
      await call("apply_changes", { changeId }),
      await call("apply_changes", { changeId, reviewToken: changeId }),
    ];
    const untouched = look();
    const applied = await call("apply_changes", { changeId, reviewToken: last["reviewToken"] });
    const after = look();
    const undone = await user.command(["changes", "undo", changeId]);

    expect(Number(first["pages"])).toBeGreaterThan(1);
    expect(first).not.toHaveProperty("reviewToken");
    expect(refusals).toMatchObject(Array(2).fill({ isError: true, structuredContent: { code: "INPUT_INVALID" } }));
    expect(untouched).toEqual(before);
    expect(applied).toMatchObject({ structuredContent: { state: "partly", applied: 2, heldBack: ["AGENTS.md"] } });
    const lines = Array.from({ length: 9000 }, (_, line) => `${line + 1}\n`).join("");
    expect(after).toEqual([
      [lines, 0o640],
      ["echo\nmore\n", 0o600],
    ]);
    expect(readdirSync(user.workspace).toSorted()).toEqual(["a.txt", "run.sh"]);
    expect(undone).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("Took back 2 paths") });
    expect(look()).toEqual(before);
  });
});
