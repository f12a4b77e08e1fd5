import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BudgieError, Reply } from "@budgie/core";
import { createEngineProxy, type EngineProxy } from "../helpers/engine-proxy.ts";
import { createTurnPlace } from "../turn/turn-place.ts";

const AGENT = "shell-worker";
const GRACE_MS = 5000;
// The time in docs/stopping.md, plus a margin for a loaded machine.
const BOUND_MS = 20_000 + 10_000;

let proxy: EngineProxy;
beforeAll(async () => void (proxy = await createEngineProxy()));
afterAll(() => proxy[Symbol.asyncDispose]());

describe("an engine that hangs", () => {
  it("in the middle of a turn is reported within bounds, and its leftovers are removed once it answers again", async () => {
    const timeoutMs = 3000;
    await using place = await createTurnPlace({ ...proxy, timeoutMs });
    const turn = { agent: AGENT, directory: place.workspace };
    const answer = toEnd(place.runTurn({ ...turn, prompt: "[[write at-work: yes]][[fault hang]]" }));
    await expect.poll(() => existsSync(join(place.workspace, "at-work")), { timeout: 20_000 }).toBe(true);
    const began = performance.now();
    const thaw = proxy.freeze();

    const error = await answer;
    const tookMs = performance.now() - began;
    const left = turnsIn(await place.traces());
    thaw();

    expect(error).toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/did not answer in time.* may still run there\. budgie retries .*"budgie gc"/),
    });
    expect(tookMs).toBeLessThan(timeoutMs + GRACE_MS + BOUND_MS);
    expect(left).toHaveLength(1);
    await expect.poll(async () => turnsIn(await place.traces()), { timeout: 60_000 }).toEqual([]);
    const { sessionId } = (error as BudgieError).report;
    expect(await place.runTurn({ ...turn, prompt: "[[say: Back.]]", sessionId })).toMatchObject({ response: "Back." });
  });

  it("while a turn's container is created leaves nothing, even if it creates it later", async () => {
    await using place = await createTurnPlace(proxy);
    const before = proxy.requestLines().length;
    const release = proxy.hush(/^GET \S*\/volumes\/budgie-session-/);
    const answer = toEnd(place.runTurn({ agent: AGENT, prompt: "Hello", directory: place.workspace }));
    await expect
      .poll(() => proxy.requestLines().slice(before), { timeout: 20_000 })
      .toContainEqual(expect.stringMatching(/^GET \S*\/volumes\/budgie-session-/));
    const thaw = proxy.freeze();
    release();

    const error = await answer;
    thaw();

    expect(error).toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    const next = await place.runTurn({ agent: AGENT, prompt: "[[say: Back.]]", directory: place.workspace });
    expect(next).toMatchObject({ response: "Back." });
    const isOthers = (name: string): boolean => !name.includes(next.sessionId);
    await expect
      .poll(async () => (await place.traces()).filter(isOthers), { timeout: 60_000 })
      .not.toContainEqual(expect.stringMatching(/^budgie-session-/));
    await expect.poll(async () => turnsIn(await place.traces()), { timeout: 20_000 }).toEqual([]);
  });
});

function toEnd(answer: Promise<Reply>): Promise<unknown> {
  return answer.catch((error: unknown) => error);
}

function turnsIn(traces: readonly string[]): readonly string[] {
  return traces.filter((name) => name.startsWith("budgie-turn-"));
}
