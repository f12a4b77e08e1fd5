import { describe, expect, it } from "vitest";
import { createPendingRemovals } from "../../src/engine/pending-removals.ts";

const TIMES = { delayMs: 5, longestDelayMs: 20, silenceMs: 60_000, aftermathMs: 5 };

describe("pending removals", () => {
  it("reports a failed removal at once, and retries until it succeeds", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    const { attempt, tries } = failing(3, refused());

    const { gone, firstAttempt } = pendingRemovals.remove(attempt);

    await expect(firstAttempt).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/HTTP 500.*retries its removal.*"budgie gc"/),
    });
    await gone;
    expect(tries()).toBeGreaterThan(3);
  });

  it("removes once more after a success, since the engine may execute an earlier request late", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    const { attempt, tries } = failing(1, refused());

    await pendingRemovals.remove(attempt).gone;

    expect(tries()).toBe(3);
  });

  it("removes only once after an immediate success", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    const { attempt, tries } = failing(0, refused());

    await pendingRemovals.remove(attempt).gone;

    expect(tries()).toBe(1);
  });

  it("does not wait again for an engine that did not answer", async () => {
    const pendingRemovals = createPendingRemovals({ ...TIMES, delayMs: 60_000 });
    pendingRemovals.suspect(unanswered());
    const { attempt, tries } = failing(0, refused());

    await expect(pendingRemovals.remove(attempt).firstAttempt).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining("did not answer in time"),
    });

    expect(tries()).toBe(0);
    await pendingRemovals.close();
    expect(tries()).toBe(1);
  });

  it("waits again for an engine that has answered since, and on close", async () => {
    const [trusting, closed] = [createPendingRemovals(TIMES), createPendingRemovals(TIMES)];
    for (const pendingRemovals of [trusting, closed]) pendingRemovals.suspect(unanswered());
    trusting.trust();
    await closed.close();

    for (const pendingRemovals of [trusting, closed]) {
      const { attempt, tries } = failing(0, refused());
      await pendingRemovals.remove(attempt).firstAttempt;
      expect(tries()).toBe(1);
    }
  });

  it("retries as soon as the engine has answered", async () => {
    const pendingRemovals = createPendingRemovals({ ...TIMES, delayMs: 60_000 });
    const { attempt } = failing(1, unanswered());
    const { gone, firstAttempt } = pendingRemovals.remove(attempt);
    await expect(firstAttempt).rejects.toThrow();

    pendingRemovals.trust();

    await gone;
  });

  it("waits for an engine after an error response", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    pendingRemovals.suspect(refused());
    const { attempt, tries } = failing(0, refused());

    await pendingRemovals.remove(attempt).firstAttempt;

    expect(tries()).toBe(1);
  });

  it("retries once more on close, and rejects if that fails", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    const { attempt, tries } = failing(Infinity, refused());
    pendingRemovals.remove(attempt).firstAttempt.catch(() => undefined);
    await expect.poll(tries).toBeGreaterThan(1);

    await expect(pendingRemovals.close()).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });

    const before = tries();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(tries()).toBe(before);
  });
});

function failing(times: number, error: Error): { readonly attempt: () => Promise<void>; readonly tries: () => number } {
  let tries = 0;
  const attempt = async (): Promise<void> => {
    if (++tries <= times) throw error;
  };
  return { attempt, tries: () => tries };
}

function refused(): Error {
  return Object.assign(new Error("It cannot be removed."), { statusCode: 500 });
}

function unanswered(): Error {
  return Object.assign(new Error("It timed out."), { name: "TimeoutError" });
}
