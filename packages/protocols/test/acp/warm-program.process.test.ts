import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createOwner, createRunTurn, type Reply } from "@budgie/core";
import { createLocalRunner } from "@budgie/runner-local";
import { isAlive } from "@budgie/testkit";
import { createAcpProtocol } from "../../src/acp/index.ts";
import { AGENT } from "./helpers/run.ts";

const PROGRAM = fileURLToPath(new URL("fixtures/agent.mjs", import.meta.url));

it("A program of this machine stays for the next turn, and ends with its runner", async () => {
  const { ask, close, pids } = create(60_000);
  const { sessionId } = await ask("one");
  expect(await ask("two", sessionId)).toMatchObject({ response: "Before: one.", sessionId });
  expect(pids()).toHaveLength(1);

  await close();

  expect(() => process.kill(pids()[0] ?? 0, 0)).toThrow("ESRCH");
});

it("A program of this machine that is killed between turns is started again, and remembers", async () => {
  const { ask, pids } = create(60_000);
  const { sessionId } = await ask("one");

  process.kill(pids()[0] ?? 0, "SIGKILL");
  await expect.poll(() => isAlive(pids()[0] ?? 0)).toBe(false);

  expect(await ask("two", sessionId)).toMatchObject({ response: "Before: one.", retried: false, warnings: [] });
  expect(pids()).toHaveLength(2);
});

it("A program of this machine ends when it was idle", async () => {
  const { ask, pids } = create(1);
  await ask("one");

  await expect.poll(() => isAlive(pids()[0] ?? 0), { timeout: 30_000 }).toBe(false);
});

function create(idleMs: number) {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "budgie-acp-"));
  const owner = createOwner({ stateDir: folder });
  const places = { sessionsDir: join(folder, "sessions"), stateDir: folder };
  const runner = createLocalRunner({ ...places, owner, hostEnv: process.env, warmIdleMs: idleMs });
  onTestFinished(async () => {
    await runner.close();
    await owner.release();
    rmSync(folder, { recursive: true });
  });
  const env = { SESSION_FILE: join(folder, "said") };
  const runTurn = createRunTurn({
    agents: () => [AGENT],
    runner,
    protocol: createAcpProtocol({
      toProgram: () => ({ command: { argv: [process.execPath, PROGRAM], env, projections: [] }, permission: "allow" }),
    }),
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 60_000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
  });
  return {
    ask: (prompt: string, sessionId?: string): Promise<Reply> =>
      runTurn({ agent: AGENT.name, prompt, directory: folder, sessionId }),
    close: () => runner.close(),
    pids: () => readFileSync(join(folder, "said.pids"), "utf8").trimEnd().split("\n").map(Number),
  };
}
