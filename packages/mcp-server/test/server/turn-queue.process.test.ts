import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { callForProgress } from "../mcp/connection/call-for-progress.ts";
import { createBudgieUser, toText, waitFor } from "../../../cli/test/helpers/start-budgie.ts";

const GATED = "[[run: until test -e gate; do sleep 0.1; done]]";
const ONE_AT_A_TIME = ["--max-concurrent", "1"];

describe("waiting calls", () => {
  it("let others pass while their agent is at its section's limit of turns", async () => {
    await using user = await createBudgieUser();
    const config = join(user.host.home, "budgie.json");
    writeFileSync(config, JSON.stringify({ agents: { "shell-worker": { maxConcurrent: 1 } } }));
    const budgie = await user.serve({ args: ["--config", config, "--max-concurrent", "2"] });
    const call = callForProgress(budgie, user.workspace);

    const first = call(`${GATED}[[say: one]]`);
    // Simultaneous calls may overtake each other.
    await waitFor(() => first.told.length > 0);
    const second = call(`${GATED}[[say: two]]`);
    await waitFor(() => second.told.length === 1);
    const other = await call("[[say: other]]", { agent: "reader" }).answer;
    const waited = [first, second].map(({ isOver }) => isOver());
    writeFileSync(join(user.workspace, "gate"), "");

    expect(toText(other)).toBe("other");
    expect(waited).toEqual([false, false]);
    expect((await Promise.all([first.answer, second.answer])).map(toText)).toEqual(["one", "two"]);
    expect(second.told.map(({ message }) => message)).toEqual([
      "shell-worker: waiting, 1st in line",
      "shell-worker: starting",
      "shell-worker: running",
    ]);
  });

  it("run no agent once they are cancelled, and let those behind them move up", async () => {
    await using user = await createBudgieUser();
    const call = callForProgress(await user.serve({ args: ONE_AT_A_TIME }), user.workspace);
    const cancelling = new AbortController();

    const first = call(`${GATED}[[say: one]]`);
    await waitFor(() => first.told.length > 0);
    const cancelled = call("[[say: cancelled]]", { signal: cancelling.signal });
    const behind = call("[[say: two]]");
    await waitFor(() => behind.told.length === 1);
    cancelling.abort("enough");
    await expect(cancelled.answer).rejects.toThrow("enough");
    await waitFor(() => behind.told.at(-1)?.message?.startsWith("shell-worker: waiting, 1st in line"));
    writeFileSync(join(user.workspace, "gate"), "");
    const answers = await Promise.all([first.answer, behind.answer]);

    expect(answers.map(toText)).toEqual(["one", "two"]);
    expect(user.kiroCalls()).toHaveLength(2);
  });

  it("run in order if they belong to one session", async () => {
    await using user = await createBudgieUser();
    const call = callForProgress(await user.serve({ args: ["--max-concurrent", "4"] }), user.workspace);
    const { structuredContent } = await call("[[say: begun]]").answer;
    const sessionId = structuredContent?.["sessionId"];

    const numbers = [1, 2, 3, 4, 5, 6];
    const calls = numbers.map((number) => call(`[[run: echo ${number} >> order]]`, { sessionId }));
    await Promise.all(calls.map(({ answer }) => answer));

    expect(readFileSync(join(user.workspace, "order"), "utf8")).toBe(numbers.map((number) => `${number}\n`).join(""));
  });

  it("are not reported to clients that request no progress", async () => {
    await using user = await createBudgieUser();
    const { ask, lines } = await user.serve({ args: ONE_AT_A_TIME });

    await Promise.all([ask("reader", { prompt: "x" }), ask("reader", { prompt: "y" })]);

    expect(lines.filter((line) => line.includes("notifications/"))).toEqual([]);
  });
});
