import { describe, expect, it } from "vitest";
import { run } from "../helpers/run.ts";
import { createScriptedAgent, POLITE } from "../helpers/scripted-agent.ts";

type Update = Readonly<Record<string, unknown>>;

describe("the cost of a turn", () => {
  it("is that of the answer to the prompt, and the session's so far", async () => {
    expect(
      await usageOf({
        updates: [
          { sessionUpdate: "usage_update", used: 10, size: 100, cost: { amount: 0.1, currency: "USD" } },
          { sessionUpdate: "usage_update", used: 20, size: 100, cost: { amount: 0.25, currency: "USD" } },
        ],
        usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10, thoughtTokens: 1 },
      }),
    ).toEqual({ inputTokens: 7, outputTokens: 3, totalTokens: 10, sessionCost: { amount: 0.25, currency: "USD" } });
  });

  it("is Kiro's credits, by its last metadata", async () => {
    const metadata = [[{ value: 5, unit: "credit" }], credits(0.1, 0.2)].map((meteringUsage) => ({
      method: "_kiro.dev/metadata",
      params: { sessionId: "c1", contextUsagePercentage: 5, meteringUsage },
    }));

    expect(await usageOf({ messages: metadata })).toEqual({ credits: 0.3 });
  });

  it("is not that of another session, nor what the agent did not say", async () => {
    const params = { sessionId: "other", meteringUsage: credits(1) };

    expect(await usageOf({ messages: [{ method: "_kiro.dev/metadata", params }] })).toBeUndefined();
  });

  it.each<readonly [string, Update, unknown]>([
    ["negative", { cost: { amount: -1, currency: "USD" } }, { inputTokens: -1 }],
    ["too large", { cost: { amount: 1e300, currency: "USD" } }, { totalTokens: 1e300 }],
    ["no number", { cost: { amount: "1", currency: "USD" } }, { outputTokens: "7" }],
    ["half a token", {}, { inputTokens: 0.5 }],
    ["in no currency", { cost: { amount: 1, currency: "\u001B[31m" } }, null],
    ["in a currency of many words", { cost: { amount: 1, currency: "x".repeat(21) } }, "much"],
  ])("leaves out a figure that is %s", async (_what, update, usage) => {
    expect(await usageOf({ updates: [{ sessionUpdate: "usage_update", ...update }], usage })).toBeUndefined();
  });

  it("counts no more than 100 entries of a list", async () => {
    const meteringUsage = credits(...Array.from({ length: 5_000 }, () => 1));
    const message = { method: "_kiro.dev/metadata", params: { sessionId: "c1", meteringUsage } };

    expect(await usageOf({ messages: [message] })).toEqual({ credits: 100 });
  });
});

function credits(...values: readonly number[]) {
  return values.map((value) => ({ value, unit: "credit" }));
}

type Told = { readonly updates?: readonly Update[]; readonly messages?: readonly unknown[]; readonly usage?: unknown };

async function usageOf({ messages = [], updates = [], usage }: Told): Promise<unknown> {
  const agent = createScriptedAgent({
    ...POLITE,
    "session/prompt": (_params, side) => {
      for (const update of updates) side.update(update);
      for (const message of messages) side.send(message);
      side.say("Hello.");
      return { stopReason: "end_turn", usage };
    },
  });
  return (await run(agent)).usage;
}
