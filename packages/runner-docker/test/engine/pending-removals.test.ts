import { describe, expect, it } from "vitest";
import { createPendingRemovals } from "../../src/engine/pending-removals.ts";

const TIMES = { delayMs: 5, longestDelayMs: 20, silenceMs: 60_000, aftermathMs: 5 };

describe("the list of what is to go", () => {
  it("tells at once what could not be removed, and goes on until it has gone", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    const { attempt, tries } = failing(3, refused());

    const { gone, firstAttempt } = pendingRemovals.remove(attempt);

    await expect(firstAttempt).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/HTTP 500.*goes on removing.*gc-volumes/),
    });
    await gone;
    expect(tries()).toBeGreaterThan(3);
  });

  it("looks once more after it has gone, since what was asked for before may come late", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    const { attempt, tries } = failing(1, refused());

    await pendingRemovals.remove(attempt).gone;

    expect(tries()).toBe(3);
  });

  it("removes what goes at once only once", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    const { attempt, tries } = failing(0, refused());

    await pendingRemovals.remove(attempt).gone;

    expect(tries()).toBe(1);
  });

  it("does not wait again for an engine that has just left a call unanswered", async () => {
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

  it("waits again for an engine that has answered since, and when it is closed", async () => {
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

  it("tries what is left as soon as the engine has answered something", async () => {
    const pendingRemovals = createPendingRemovals({ ...TIMES, delayMs: 60_000 });
    const { attempt } = failing(1, unanswered());
    const { gone, firstAttempt } = pendingRemovals.remove(attempt);
    await expect(firstAttempt).rejects.toThrow();

    pendingRemovals.trust();

    await gone;
  });

  it("waits for an engine that refused something", async () => {
    const pendingRemovals = createPendingRemovals(TIMES);
    pendingRemovals.suspect(refused());
    const { attempt, tries } = failing(0, refused());

    await pendingRemovals.remove(attempt).firstAttempt;

    expect(tries()).toBe(1);
  });

  it("tries what is left once more when it is closed, says if it stays, and then lets it be", async () => {
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
