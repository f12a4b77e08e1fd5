import { join } from "node:path";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { createOwner, createSessionId, type Owner, type Runner, type RunnerSession } from "@budgie/core";
import { TurnEvents } from "@budgie/core/protocol";
import { createLocalRunner } from "@budgie/runner-local";
import { run } from "./helpers/run.ts";

const AGENT = fileURLToPath(new URL("fixtures/agent.mjs", import.meta.url));

let folder: string;
let owner: Owner;
let runner: Runner;
let session: RunnerSession;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "budgie-acp-"));
  owner = createOwner({ stateDir: folder });
  runner = createLocalRunner({ sessionsDir: join(folder, "sessions"), stateDir: folder, owner, hostEnv: process.env });
  session = await runner.openSession(createSessionId());
});
afterEach(async () => {
  await runner.close();
  await owner.release();
  rmSync(folder, { recursive: true });
});

/** Returns the options of a turn with the SDK's own agent, in a process on this machine. */
function withProgram(prompt: string, env: Readonly<Record<string, string>> = {}) {
  const argv = [process.execPath, AGENT] as const;
  const command = { argv, env: { SESSION_FILE: join(folder, "said"), ...env }, projections: [] };
  return { prompt, directory: folder, command };
}

describe("a program of this machine, by the official SDK", () => {
  it("answers, and remembers it in its next process", async () => {
    expect(await run({ session }, withProgram("one"))).toMatchObject({
      response: "Before: nothing.",
      exit: { exitCode: 0 },
    });
    expect(await run({ session }, { ...withProgram("two"), resume: true })).toMatchObject({ response: "Before: one." });
  });

  it("is denied its tools", async () => {
    expect(await run({ session }, { ...withProgram("one"), permission: "deny" })).toMatchObject({
      response: "I may not.",
      denied: ["Look back"],
    });
  });

  it("is cancelled in the middle of its turn, and can be asked again", async () => {
    const cancelling = new AbortController();
    const events = new TurnEvents().on("output", () => cancelling.abort());
    const hooks = { signal: cancelling.signal, events };

    expect(await failureOf(run({ session }, { ...withProgram("hang"), ...hooks }))).toMatchObject({
      code: "CANCELLED",
    });
    expect(await run({ session }, { ...withProgram("one"), resume: true })).toMatchObject({
      response: "Before: nothing.",
    });
  });

  it("fails with its exit code and stderr if it crashes", async () => {
    expect(await failureOf(run({ session }, withProgram("crash")))).toMatchObject({
      code: "AGENT_CRASHED",
      message: expect.stringMatching(/exit code 7: panic: as asked/),
    });
  });

  it("is killed if it ends neither with its input nor when it is asked to", async () => {
    const { response } = await run({ session }, withProgram("one", { IGNORES_ENDS: "1" }));

    expect(response).toBe("Before: nothing.");
    const pid = Number(readFileSync(join(folder, "said.pid"), "utf8"));
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  it("that does not exist is named", async () => {
    const command = { argv: ["no-such-program"] as const, env: {}, projections: [] };

    expect(await failureOf(run({ session }, { ...withProgram("one"), command }))).toMatchObject({
      code: "COMMAND_NOT_FOUND",
      message: expect.stringContaining('"no-such-program"'),
    });
  });
});
