import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngineProxy, type EngineProxy } from "../../../../runner-docker/test/helpers/engine-proxy.ts";
import { listTraces } from "../../../../cli/test/helpers/engine.ts";
import { createBudgieUser, toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";

let proxy: EngineProxy;
beforeAll(async () => void (proxy = await createEngineProxy()));
afterAll(() => proxy[Symbol.asyncDispose]());

describe("a client that cancels its call to a sandboxed agent", () => {
  it.each([
    ["while its session's volumes are created", /^POST \S*\/volumes\/create/],
    ["while its container is created", /^POST \S*\/containers\/create\?name=budgie-turn-/],
    ["while its container starts", /^POST \S*\/containers\/[0-9a-f]+\/start/],
  ])("%s leaves nothing behind, and its next call is answered", async (_, point) => {
    await using user = await createBudgieUser();
    const env = { ...proxy.hostEnv, BUDGIE_AHEAD: "0" };
    const { ask, stderr } = await user.serve({ sandbox: true, args: ["-verbose"], env });
    // The first call also asks the image for Kiro's help.
    await ask("code-reviewer", { prompt: "Hello" });
    const earlier = await listTraces(user);
    const cancelling = new AbortController();
    const before = proxy.requestLines().length;
    const release = proxy.hush(point);
    const answer = ask("code-reviewer", { prompt: "[[write at-work: yes]]" }, cancelling.signal);
    await waitFor(() =>
      proxy
        .requestLines()
        .slice(before)
        .some((line) => point.test(line)),
    );

    cancelling.abort();
    await expect(answer).rejects.toThrow();
    release();
    await waitFor(() => stderr().includes("failed with CANCELLED"));

    expect((await listTraces(user)).filter((name) => !earlier.includes(name))).toEqual([]);
    expect(existsSync(join(user.workspace, "at-work"))).toBe(false);
    expect(toText(await ask("code-reviewer", { prompt: "[[say: Back.]]" }))).toBe("Back.");
  });

  it("during the agent's work leaves no container, even if the agent ignores signals", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.serve({ sandbox: true, args: ["-verbose"], env: proxy.hostEnv });
    const cancelling = new AbortController();
    const answer = ask("code-reviewer", { prompt: "[[write at-work: yes]][[fault hang]]" }, cancelling.signal);
    await waitFor(() => existsSync(join(user.workspace, "at-work")));

    cancelling.abort();
    await expect(answer).rejects.toThrow();
    await waitFor(() => stderr().includes("failed with CANCELLED"));

    expect((await listTraces(user)).filter((name) => name.includes("budgie-turn-"))).toEqual([]);
    expect(toText(await ask("code-reviewer", { prompt: "[[say: Back.]]" }))).toBe("Back.");
  });
});
