import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { BudgieError, ERROR_CODES, type AgentProcess } from "@budgie/core";
import type { ProtocolAnswer } from "@budgie/core/protocol";
import type { RetryMode } from "@budgie/core/turn";
import { UNCHANGED, type WorkspaceChanges } from "../../../src/changes/watch-workspace.ts";
import { retryOnce } from "../../../src/turn/steps/retry-once.ts";
import { createTurn } from "../../helpers/create-turn.ts";

type RetryOptions = {
  readonly mode: RetryMode;
  readonly delayMs: number;
  readonly signal: AbortSignal | undefined;
  /** Ends the process of the first attempt */
  readonly end: () => Promise<unknown>;
  readonly findChanges: () => Promise<WorkspaceChanges>;
};

const AT_ONCE: RetryOptions = {
  mode: "safe",
  delayMs: 0,
  signal: undefined,
  end: async () => undefined,
  findChanges: async () => UNCHANGED,
};
const CHANGED: Partial<RetryOptions> = {
  findChanges: async () => ({ paths: ["a.txt"], count: 1, unknown: undefined }),
};

describe("retryOnce", () => {
  it("makes one attempt if it succeeds", async () => {
    const tries: number[] = [];

    const answer = await withRetry(async (number) => {
      tries.push(number);
      return "answer";
    }, AT_ONCE);

    expect({ answer, tries }).toEqual({ answer: "answer", tries: [1] });
  });

  it("makes a second attempt only after a timeout or a crash", async () => {
    const retried = [];
    for (const code of ERROR_CODES) if ((await countTries(new BudgieError(code, "x"))) === 2) retried.push(code);

    expect(retried).toEqual(["TIMED_OUT", "AGENT_CRASHED"]);
  });

  it("does not retry after a bug", async () => {
    expect(await countTries(new TypeError("x"))).toBe(1);
  });

  it("returns the answer of the second attempt", async () => {
    const answer = await withRetry(async (number) => {
      if (number === 1) throw new BudgieError("AGENT_CRASHED", "x");
      return number;
    }, AT_ONCE);

    expect(answer).toBe(2);
  });

  it("throws the error of the second attempt", async () => {
    const attempt = async (number: number) => {
      throw new BudgieError(number === 1 ? "TIMED_OUT" : "LOGIN_REQUIRED", `try ${number}`);
    };

    await expect(withRetry(attempt, AT_ONCE)).rejects.toMatchObject({ code: "LOGIN_REQUIRED", message: "try 2" });
  });

  it("waits before the second attempt", async () => {
    const began = performance.now();
    await countTries(new BudgieError("TIMED_OUT", "x"), { ...AT_ONCE, delayMs: 100 });

    expect(performance.now() - began).toBeGreaterThanOrEqual(99);
  });

  it("ends the wait when the turn is cancelled, and does not retry", async () => {
    const abort = new AbortController();
    let tries = 0;
    const attempt = async () => {
      tries++;
      setTimeout(() => abort.abort(), 10);
      throw new BudgieError("TIMED_OUT", "It took too long.");
    };

    await expect(withRetry(attempt, { ...AT_ONCE, delayMs: 60_000, signal: abort.signal })).rejects.toMatchObject({
      code: "CANCELLED",
      message: "The turn was cancelled before its second attempt. It took too long.",
    });
    expect(tries).toBe(1);
  });

  it("looks for changes, and retries, only after all processes of the first attempt have ended", async () => {
    const steps: string[] = [];
    const note = (step: string) => async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      steps.push(step);
    };
    const attempt = async (number: number) => {
      steps.push(`try ${number}`);
      if (number === 1) throw new BudgieError("AGENT_CRASHED", "x");
    };

    await withRetry(attempt, {
      ...AT_ONCE,
      end: note("ended"),
      findChanges: async () => note("looked")().then(() => UNCHANGED),
    });

    expect(steps).toEqual(["try 1", "ended", "looked", "try 2"]);
  });

  it("looks for no changes if the first attempt succeeds, or fails permanently", async () => {
    const findChanges = () => Promise.reject(new Error("was asked"));

    await withRetry(async () => "answer", { ...AT_ONCE, findChanges });
    await countTries(new BudgieError("AGENT_FAILED", "x"), { ...AT_ONCE, findChanges });
  });

  it.each(["TIMED_OUT", "AGENT_CRASHED"] as const)(
    "does not retry a %s attempt that changed something",
    async (code) => {
      const { error, tries } = await fail(new BudgieError(code, "It broke."), { ...AT_ONCE, ...CHANGED });

      expect(tries).toBe(1);
      expect(error).toMatchObject({
        code: "INDETERMINATE",
        message:
          "The agent's progress is indeterminate, so the turn was not retried: its first attempt failed, and the workspace changed " +
          'during it: "a.txt". It broke. Look at what was done, and ask again in the same session to continue from there; ' +
          'the option "retry" can be set to "always", which retries regardless.',
        report: { changedPaths: ["a.txt"] },
        cause: { code },
      });
    },
  );

  it("does not retry an attempt that changed only git's folders outside the directory, such as by a commit", async () => {
    const turn = await createTurn();
    const writable = ["objects", "refs", "worktrees/tree"];
    turn.git = { folders: { own: "", common: "/main/.git", config: undefined, writable, guarded: [] } };
    const watched: string[] = [];
    const step = retryOnce({ retry: "safe", retryDelayMs: 0 }, (directory) => {
      watched.push(directory);
      const changes = { paths: [], count: directory === "/main/.git/refs" ? 1 : 0, unknown: undefined };
      return { ready: Promise.resolve(), findChanges: async () => changes };
    });

    const error = await failureOf(step(turn, () => Promise.reject(new BudgieError("TIMED_OUT", "x"))));

    expect(error.code).toBe("INDETERMINATE");
    expect(watched).toEqual([turn.request.directory, "/main/.git/refs", "/main/.git/worktrees/tree"]);
  });

  it("names ten of what changed, and counts the rest", async () => {
    const paths = Array.from({ length: 12 }, (_, index) => `f${index}`);
    const findChanges = async () => ({ paths, count: 300, unknown: undefined });

    const { error } = await fail(new BudgieError("TIMED_OUT", "x"), { ...AT_ONCE, findChanges });

    expect(error).toMatchObject({
      message: expect.stringContaining('"f8", "f9", and 290 more. '),
      report: { changedPaths: paths },
    });
  });

  it("does not retry an attempt with unknown changes", async () => {
    const findChanges = async () => ({ paths: [], count: 0, unknown: "too dark" });

    const { error, tries } = await fail(new BudgieError("TIMED_OUT", "x"), { ...AT_ONCE, findChanges });

    expect(tries).toBe(1);
    expect(error).toMatchObject({
      code: "INDETERMINATE",
      message: expect.stringContaining("it is unknown whether the workspace changed during it: too dark. x "),
      report: { changedPaths: [] },
    });
  });

  it("never retries an attempt that may still run, in any mode", async () => {
    const end = () => Promise.reject(new Error("no engine"));
    for (const mode of ["safe", "always"] as const) {
      const { error, tries } = await fail(new BudgieError("TIMED_OUT", "x"), { ...AT_ONCE, mode, end });

      expect({ tries, code: error.code }).toEqual({ tries: 1, code: "INDETERMINATE" });
      // No other mode would retry either.
      expect(error.message).toMatch(/unknown whether the agent has ended\. x (?!.*"retry")/);
    }
  });

  it("retries despite changes with always, and never with never", async () => {
    const failure = new BudgieError("TIMED_OUT", "x");

    expect(await countTries(failure, { ...AT_ONCE, ...CHANGED, mode: "always" })).toBe(2);
    expect(await countTries(failure, { ...AT_ONCE, mode: "never" })).toBe(1);
  });

  it("is cancelled rather than indeterminate if the caller gave up meanwhile", async () => {
    const signal = AbortSignal.abort();

    const { error, tries } = await fail(new BudgieError("TIMED_OUT", "x"), { ...AT_ONCE, ...CHANGED, signal });

    expect({ tries, code: error.code }).toEqual({ tries: 1, code: "CANCELLED" });
  });
});

/** Runs the step with attempts whose one process ends by `end`. */
async function withRetry<T>(attempt: (number: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { delayMs, end, findChanges, mode, signal } = options;
  const child = { stop: async () => void (await end()) } as unknown as AgentProcess;
  const turn = await createTurn({ processes: [child], signal });
  const step = retryOnce({ retry: mode, retryDelayMs: delayMs }, () => ({ ready: Promise.resolve(), findChanges }));
  const answer = await step(turn, async () => ({ said: await attempt(turn.attempts) }) as unknown as ProtocolAnswer);
  return (answer as unknown as { readonly said: T }).said;
}

async function fail(failure: BudgieError, options: RetryOptions) {
  let tries = 0;
  const attempt = async () => {
    tries++;
    throw failure;
  };
  return { error: await failureOf(withRetry(attempt, options)), tries };
}

async function countTries(error: Error, options: RetryOptions = AT_ONCE): Promise<number> {
  let tries = 0;
  const attempt = async () => {
    tries++;
    throw error;
  };
  await expect(withRetry(attempt, options)).rejects.toBe(error);
  return tries;
}
