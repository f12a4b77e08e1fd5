import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRunTurn, type Isolation } from "@budgie/core";
import { createFakeRunner } from "@budgie/testkit";
import { AGENT } from "../helpers/agent.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

it("names the agent's hooks that the sandbox kept from running", async () => {
  expect(await warningsIn("container")).toEqual([
    expect.stringMatching(/^The guard hook "bash \.kiro\/hooks\/guard\.sh" \(preToolUse\) did not run, since /),
    "from the protocol",
  ]);
  expect(await warningsIn("none")).toEqual(["from the protocol"]);
});

async function warningsIn(isolation: Isolation): Promise<readonly string[]> {
  const directory = createTemporaryFolder();
  mkdirSync(join(directory, ".kiro/hooks"), { recursive: true });
  const agent = { ...AGENT, hooks: [{ trigger: "preToolUse", command: "bash .kiro/hooks/guard.sh" }] };
  const exit = { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false };
  const runTurn = createRunTurn({
    agents: () => [agent],
    runner: { ...createFakeRunner(() => ({})), isolation },
    protocol: async () => ({ response: "done", file: undefined, exit, denied: [], warnings: ["from the protocol"] }),
    policyOf: () => ({
      workspace: "ro",
      egress: { mode: "allowlist", hosts: [] },
      limits: {},
      timeoutMs: 1000,
    }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
  return (await runTurn({ agent: AGENT.name, prompt: "x", directory })).warnings;
}
