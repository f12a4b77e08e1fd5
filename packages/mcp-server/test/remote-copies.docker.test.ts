import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { CopyChanges } from "@budgie/core/errors";
import { describe, expect, it } from "vitest";
import { createBudgieUser, TEST_IMAGE } from "../../cli/test/helpers/start-budgie.ts";
import { findElsewhereLack, startEngineElsewhere } from "../../runner-docker/test/helpers/engine-elsewhere.ts";

const lack = findElsewhereLack();

describe.skipIf(lack !== undefined)(`an engine elsewhere${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  it("runs an agent on a copy if that is allowed, and its changes are applied here", async () => {
    await using user = await createBudgieUser();
    await using engine = await startEngineElsewhere(user.host.home, TEST_IMAGE);
    const config = join(user.host.home, "config.json");
    const env = { DOCKER_HOST: engine.host };
    const args = ["--config", config, "--egress", "none"];
    writeFileSync(join(user.workspace, "a.txt"), "one\n");
    writeFileSync(join(user.workspace, ".env"), "TOKEN=secret");

    writeFileSync(config, '{ "allowRemoteCopy": true }');
    const { ask, client } = await user.start({ sandbox: true, args, env });
    const first = await ask("shell-worker", { prompt: "[[run: ls -A; cat a.txt; echo two >a.txt]]" });
    const call = (name: string, input: object): Promise<CallToolResult> =>
      client.callTool({ name: `kiro-subagents.${name}`, arguments: { ...input } }) as Promise<CallToolResult>;
    const { changes } = (first.structuredContent ?? {})["copy"] as { readonly changes: CopyChanges };
    const before = readFileSync(join(user.workspace, "a.txt"), "utf8");
    const { structuredContent: shown = {} } = await call("changes", { changeId: changes.changeId });
    const applied = await call("apply_changes", { changeId: changes.changeId, reviewToken: shown["reviewToken"] });

    expect(JSON.stringify(first.content)).toMatch(/a\.txt.*one/);
    expect(changes).toMatchObject({ added: 0, changed: 1, removed: 0 });
    expect(before).toBe("one\n");
    expect(applied).toMatchObject({ structuredContent: { applied: 1 } });
    expect(readFileSync(join(user.workspace, "a.txt"), "utf8")).toBe("two\n");
    expect(existsSync(join(user.workspace, ".env"))).toBe(true);
  });
});
