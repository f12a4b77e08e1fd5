import { describe, expect, it } from "vitest";
import { BudgieError, ERROR_CODES } from "@budgie/core";
import { withRetry } from "../src/retry.ts";

const AT_ONCE = { delayMs: 0, signal: undefined };

describe("withRetry", () => {
  it("tries once when that works", async () => {
    const tries: number[] = [];

    const answer = await withRetry(async (number) => {
      tries.push(number);
      return "answer";
    }, AT_ONCE);

    expect({ answer, tries }).toEqual({ answer: "answer", tries: [1] });
  });

  it("tries a second time after a timeout and a crash, and after nothing else", async () => {
    const retried = [];
    for (const code of ERROR_CODES) if ((await countTries(new BudgieError(code, "x"))) === 2) retried.push(code);

    expect(retried).toEqual(["TIMED_OUT", "AGENT_CRASHED"]);
  });

  it("does not try again after a bug", async () => {
    expect(await countTries(new TypeError("x"))).toBe(1);
  });

  it("gives back the answer of the second try", async () => {
    const answer = await withRetry(async (number) => {
      if (number === 1) throw new BudgieError("AGENT_CRASHED", "x");
      return number;
    }, AT_ONCE);

    expect(answer).toBe(2);
  });

  it("throws what the second try threw", async () => {
    const attempt = async (number: number) => {
      throw new BudgieError(number === 1 ? "TIMED_OUT" : "LOGIN_REQUIRED", `try ${number}`);
    };

    await expect(withRetry(attempt, AT_ONCE)).rejects.toMatchObject({ code: "LOGIN_REQUIRED", message: "try 2" });
  });

  it("waits before the second try", async () => {
    const began = performance.now();
    await countTries(new BudgieError("TIMED_OUT", "x"), { delayMs: 100, signal: undefined });

    expect(performance.now() - began).toBeGreaterThanOrEqual(99);
  });

  it("ends the wait when the turn is cancelled, and does not try again", async () => {
    const abort = new AbortController();
    let tries = 0;
    const attempt = async () => {
      tries++;
      setTimeout(() => abort.abort(), 10);
      throw new BudgieError("TIMED_OUT", "It took too long.");
    };

    await expect(withRetry(attempt, { delayMs: 60_000, signal: abort.signal })).rejects.toMatchObject({
      code: "CANCELLED",
      message: "The turn was cancelled before its second try. It took too long.",
    });
    expect(tries).toBe(1);
  });
});

async function countTries(error: Error, options: Parameters<typeof withRetry>[1] = AT_ONCE): Promise<number> {
  let tries = 0;
  const attempt = async () => {
    tries++;
    throw error;
  };
  await expect(withRetry(attempt, options)).rejects.toBe(error);
  return tries;
}
