import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createSessionId, type Agent, type Command, type RunnerSession } from "@budgie/core";
import { TurnEvents, type ProtocolTurn } from "@budgie/core/protocol";
import { createFakeRunner, type FakeProgram, type FakeRunner } from "@budgie/testkit";
import { runToEnd, type RunOptions } from "../../src/protocol/run-to-end.ts";

const COMMAND: Command = { argv: ["agent"], env: {}, projections: [] };
const OPTIONS: RunOptions = { input: "hello", answerFile: "answer.txt", isStuck: () => false };

describe("runToEnd", () => {
  it("collects a process's output and exit", async () => {
    const { session } = await open(() => ({ stdout: "out", stderr: "err", exit: { exitCode: 3 } }));

    expect(await runToEnd(makeTurn(session), COMMAND, OPTIONS)).toEqual({
      stdout: { text: "out", bytes: 3, truncated: false, file: undefined },
      stderr: { text: "err", bytes: 3, truncated: false, file: undefined },
      exit: { exitCode: 3, signal: undefined, reason: undefined, oomKilled: false },
      answer: undefined,
    });
  });

  it("reads the answer file", async () => {
    const { session } = await open(({ writeFile }) => {
      writeFile("answer.txt", "the answer");
      return {};
    });

    expect(await runToEnd(makeTurn(session), COMMAND, OPTIONS)).toMatchObject({ answer: "the answer" });
  });

  it.each([undefined, ""])("reads the answer file again after the end if it was %j before", async (early) => {
    const { session } = await open(() => ({}));
    const contents = [early, "the answer"];

    const finished = await runToEnd(makeTurn({ ...session, readFile: async () => contents.shift() }), COMMAND, OPTIONS);

    expect(finished).toMatchObject({ answer: "the answer" });
  });

  it("passes on the input and the directory", async () => {
    const { runner, session } = await open(() => ({}));
    await runToEnd(makeTurn(session), COMMAND, OPTIONS);

    expect(runner.runs).toMatchObject([{ command: COMMAND, options: { directory: "/", input: "hello" } }]);
  });

  it("holds the first and the last MiB of each stream", async () => {
    const { session } = await open(() => ({ stdout: `first${"x".repeat(5 * 1024 * 1024)}last` }));
    const { stdout } = await runToEnd(makeTurn(session), COMMAND, OPTIONS);

    expect(stdout.text).toMatch(/^firstx+\n\[budgie: 3145737 bytes are left out here\]\nx+last$/);
    expect(stdout).toMatchObject({ bytes: 5_242_889, truncated: true });
  });

  it("stops a process after the timeout, and waits for its end", async () => {
    let gone = false;
    const { session } = await open(async ({ stopped }) => {
      const reason = await stopped;
      await sleep(50);
      gone = true;
      return { stdout: "half", exit: { signal: "SIGKILL", reason } };
    });

    const finished = await runToEnd(makeTurn(session, 20), COMMAND, OPTIONS);

    expect(finished).toMatchObject({ stdout: { text: "half" }, exit: { reason: "timeout", signal: "SIGKILL" } });
    expect(gone).toBe(true);
  });

  it("fails if a process could not be stopped after the timeout", async () => {
    const { session } = await open(async () => {
      await sleep(100);
      return {};
    });
    const start: RunnerSession["start"] = async (command, options) => {
      return { ...(await session.start(command, options)), stop: () => Promise.reject(new Error("no engine")) };
    };

    const finished = runToEnd(makeTurn({ ...session, start }, 20), COMMAND, OPTIONS);

    await expect(finished).rejects.toThrow("no engine");
  });

  it("does not stop a process that ended in time", async () => {
    let reason: string | undefined;
    const { session } = await open(({ stopped }) => {
      void stopped.then((it) => (reason = it));
      return {};
    });
    await runToEnd(makeTurn(session, 50), COMMAND, OPTIONS);

    await sleep(100);

    expect(reason).toBeUndefined();
  });

  it.each([2 ** 31, 1e12, Number.POSITIVE_INFINITY])("treats %d ms as a long time, not as none", async (timeoutMs) => {
    const { session } = await open(async ({ stopped }) => {
      const reason = await Promise.race([stopped, sleep(50, undefined)]);
      return { exit: { reason } };
    });

    expect(await runToEnd(makeTurn(session, timeoutMs), COMMAND, OPTIONS)).toMatchObject({
      exit: { reason: undefined },
    });
  });

  it("stops a process with unreadable output, and says why", async () => {
    let reason: string | undefined;
    const { session } = await open(({ stopped }) => {
      void stopped.then((it) => (reason = it));
      return { stdout: failing() };
    });

    await expect(runToEnd(makeTurn(session), COMMAND, OPTIONS)).rejects.toThrow("connection reset");
    expect(reason).toBe("shutdown");
  });

  it("rejects when the process cannot be started", async () => {
    const { session } = await open(() => {
      throw new Error("no engine");
    });

    await expect(runToEnd(makeTurn(session), COMMAND, OPTIONS)).rejects.toThrow("no engine");
  });
});

async function open(program: FakeProgram): Promise<{ runner: FakeRunner; session: RunnerSession }> {
  const runner = createFakeRunner(program);
  return { runner, session: await runner.openSession(createSessionId()) };
}

function makeTurn(session: RunnerSession, timeoutMs = 10_000): ProtocolTurn {
  const events = new TurnEvents();
  return {
    agent: {} as Agent,
    session,
    directory: "/",
    prompt: "",
    resume: false,
    timeoutMs,
    signal: undefined,
    events,
  };
}

function failing(): Readable {
  return new Readable({
    read() {
      this.destroy(new Error("connection reset"));
    },
  });
}
