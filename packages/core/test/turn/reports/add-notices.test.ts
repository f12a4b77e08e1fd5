import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRunTurn, type RunTurn } from "@budgie/core";
import type { Isolation } from "@budgie/core/owners";
import { createFakeRunner } from "@budgie/testkit";
import { AGENT } from "../../helpers/agent.ts";
import { createTemporaryFolder } from "../../helpers/temporary-folder.ts";

it("names the agent's hooks that the sandbox kept from running", async () => {
  expect(await warningsIn("container")).toEqual([
    expect.stringMatching(/^The guard hook "bash \.kiro\/hooks\/guard\.sh" \(preToolUse\) did not run, since /),
    "from the protocol",
  ]);
  expect(await warningsIn("none")).toEqual(["from the protocol"]);
});

it("says once in a session why git does not work in a sandbox", async () => {
  const directory = createTemporaryFolder();
  mkdirSync(join(directory, ".git"));
  mkdirSync(join(directory, "part"));
  const told = expect.stringMatching(/^git does not work in the sandbox: ".*\/part" is a part of the repository /);
  const inPart = { agent: AGENT.name, prompt: "x", directory: join(directory, "part") };
  const ask = createAsking("container");

  const first = await ask(inPart);
  const second = await ask({ ...inPart, sessionId: first.sessionId });
  const other = await ask(inPart);

  expect([first.warnings, second.warnings, other.warnings]).toEqual([[told, SAID], [SAID], [told, SAID]]);
  expect((await ask({ ...inPart, directory })).warnings).toEqual([SAID]);
  expect((await createAsking("none")(inPart)).warnings).toEqual([SAID]);
});

async function warningsIn(isolation: Isolation): Promise<readonly string[]> {
  const directory = createTemporaryFolder();
  mkdirSync(join(directory, ".kiro/hooks"), { recursive: true });
  return (await createAsking(isolation)({ agent: AGENT.name, prompt: "x", directory })).warnings;
}

const SAID = "from the protocol";

function createAsking(isolation: Isolation): RunTurn {
  const agent = { ...AGENT, hooks: [{ trigger: "preToolUse", command: "bash .kiro/hooks/guard.sh" }] };
  const exit = { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false };
  return createRunTurn({
    agents: () => [agent],
    runner: { ...createFakeRunner(() => ({})), isolation },
    protocol: async () => ({ response: "done", file: undefined, exit, denied: [], warnings: [SAID] }),
    policyOf: () => ({
      workspace: "ro",
      egress: { mode: "allowlist", hosts: [] },
      limits: {},
      timeoutMs: 1000,
    }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
}
