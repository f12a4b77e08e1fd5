import { describe, expect, it } from "vitest";
import { createRemovals } from "../../src/engine/pending-removals.ts";

const TIMES = { delayMs: 5, longestDelayMs: 20, silenceMs: 60_000, aftermathMs: 5 };

describe("the list of what is to go", () => {
  it("tells at once what could not be removed, and goes on until it has gone", async () => {
    const removals = createRemovals(TIMES);
    const { attempt, tries } = failing(3, refused());

    const { gone, tried } = removals.remove(attempt);

    await expect(tried).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/HTTP 500.*goes on removing.*gc-volumes/),
    });
    await gone;
    expect(tries()).toBeGreaterThan(3);
  });

  it("looks once more after it has gone, since what was asked for before may come late", async () => {
    const removals = createRemovals(TIMES);
    const { attempt, tries } = failing(1, refused());

    await removals.remove(attempt).gone;

    expect(tries()).toBe(3);
  });

  it("removes what goes at once only once", async () => {
    const removals = createRemovals(TIMES);
    const { attempt, tries } = failing(0, refused());

    await removals.remove(attempt).gone;

    expect(tries()).toBe(1);
  });

  it("does not wait again for an engine that has just left a call unanswered", async () => {
    const removals = createRemovals({ ...TIMES, delayMs: 60_000 });
    removals.suspect(unanswered());
    const { attempt, tries } = failing(0, refused());

    await expect(removals.remove(attempt).tried).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining("did not answer in time"),
    });

    expect(tries()).toBe(0);
    await removals.close();
    expect(tries()).toBe(1);
  });

  it("waits again for an engine that has answered since, and when it is closed", async () => {
    const [trusting, closed] = [createRemovals(TIMES), createRemovals(TIMES)];
    for (const removals of [trusting, closed]) removals.suspect(unanswered());
    trusting.trust();
    await closed.close();

    for (const removals of [trusting, closed]) {
      const { attempt, tries } = failing(0, refused());
      await removals.remove(attempt).tried;
      expect(tries()).toBe(1);
    }
  });

  it("tries what is left as soon as the engine has answered something", async () => {
    const removals = createRemovals({ ...TIMES, delayMs: 60_000 });
    const { attempt } = failing(1, unanswered());
    const { gone, tried } = removals.remove(attempt);
    await expect(tried).rejects.toThrow();

    removals.trust();

    await gone;
  });

  it("waits for an engine that refused something", async () => {
    const removals = createRemovals(TIMES);
    removals.suspect(refused());
    const { attempt, tries } = failing(0, refused());

    await removals.remove(attempt).tried;

    expect(tries()).toBe(1);
  });

  it("tries what is left once more when it is closed, says if it stays, and then lets it be", async () => {
    const removals = createRemovals(TIMES);
    const { attempt, tries } = failing(Infinity, refused());
    removals.remove(attempt).tried.catch(() => undefined);
    await expect.poll(tries).toBeGreaterThan(1);

    await expect(removals.close()).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });

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
