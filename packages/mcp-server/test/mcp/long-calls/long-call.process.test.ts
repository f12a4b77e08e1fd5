import { describe, expect, it } from "vitest";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { isAlive } from "@budgie/testkit";
import { createBudgieUser, toText, waitFor, type Served } from "../../../../cli/test/helpers/start-budgie.ts";

// Scales down a timeout of a minute and a call of ten; a heartbeat's ten seconds are a sixth of the timeout.
const MINUTE_MS = 1500;
const CALL_MS = 10 * MINUTE_MS;
const HEARTBEAT = ["--heartbeat", `${MINUTE_MS / 6}ms`];
const PROMPT = `[[sleep ${CALL_MS}]][[say: It took long.]]`;

describe("a call that lasts ten times as long as its client's timeout", () => {
  it("is answered if progress resets the timeout", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve({ args: HEARTBEAT });
    const told: number[] = [];
    const began = performance.now();

    const answer = await call(budgie, user.workspace, {
      timeout: MINUTE_MS,
      resetTimeoutOnProgress: true,
      onprogress: ({ progress }) => void told.push(progress),
    });

    expect(toText(answer)).toBe("It took long.");
    expect((performance.now() - began) / MINUTE_MS).toBeGreaterThanOrEqual(10);
    expect(told.length).toBeGreaterThan(10);
    expect(told).toEqual(told.map((_, index) => index + 1));
    const answered = budgie.lines.findIndex((line) => line.includes("It took long."));
    const after = budgie.lines.slice(answered + 1);
    expect(after.filter((line) => line.includes("notifications/progress"))).toEqual([]);
  });

  it("is cancelled, and its agent ended, if progress does not", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve({ args: HEARTBEAT });

    const answer = call(budgie, user.workspace, { timeout: MINUTE_MS, onprogress: () => undefined });

    await expect(answer).rejects.toMatchObject({ code: -32001, message: expect.stringContaining("timed out") });
    const agent = await waitFor(() => user.kiroCalls()[0]);
    await waitFor(() => !isAlive(agent.pid));
  });
});

type CallOptions = NonNullable<Parameters<Served["client"]["callTool"]>[2]>;

function call({ client }: Served, directory: string, options: CallOptions): Promise<CallToolResult> {
  const request = { name: "kiro-subagents.code-reviewer", arguments: { prompt: PROMPT, directory } };
  return client.callTool(request, undefined, options) as Promise<CallToolResult>;
}
