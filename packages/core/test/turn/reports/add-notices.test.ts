import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRunTurn, type RunTurn } from "@budgie/core";
import type { UsageReport } from "@budgie/core/runs";
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

it("says once that a context is nearly full, until the program has made room", async () => {
  const ask = createAsking("none", [
    { contextUsed: 159_999, contextSize: 200_000 },
    { contextUsed: 170_000, contextSize: 200_000 },
    { contextUsed: 180_000, contextSize: 200_000 },
    { contextUsed: 20_000, contextSize: 200_000 },
    { contextUsed: 999_000, contextSize: 200_000 },
  ]);
  const turn = { agent: AGENT.name, prompt: "x", directory: createTemporaryFolder() };
  const first = await ask(turn);

  const told = [first.warnings];
  for (let more = 0; more < 4; more++) told.push((await ask({ ...turn, sessionId: first.sessionId })).warnings);

  const told85 = expect.stringMatching(
    /^The session's context is 85 % full \(170,000 of 200,000 tokens\), so that each/,
  );
  const toldAgain = expect.stringMatching(/ is 100 % full /);
  expect(told).toEqual([[SAID], [told85, SAID], [SAID], [SAID], [toldAgain, SAID]]);
});

async function warningsIn(isolation: Isolation): Promise<readonly string[]> {
  const directory = createTemporaryFolder();
  mkdirSync(join(directory, ".kiro/hooks"), { recursive: true });
  return (await createAsking(isolation)({ agent: AGENT.name, prompt: "x", directory })).warnings;
}

const SAID = "from the protocol";

function createAsking(isolation: Isolation, reports: readonly UsageReport[] = []): RunTurn {
  const left = [...reports];
  const agent = { ...AGENT, hooks: [{ trigger: "preToolUse", command: "bash .kiro/hooks/guard.sh" }] };
  const exit = { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false };
  return createRunTurn({
    agents: () => [agent],
    runner: { ...createFakeRunner(() => ({})), isolation },
    async protocol({ events, session, directory }) {
      await session.start({ argv: ["x"], env: {}, projections: [] }, { directory, input: "" });
      const report = left.shift();
      if (report !== undefined) events.emit("usage", report);
      return { response: "done", file: undefined, exit, denied: [], warnings: [SAID] };
    },
    policyOf: () => ({
      workspace: "ro",
      egress: { mode: "allowlist", hosts: [] },
      limits: {},
      timeoutMs: 1000,
    }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
}
