import { describe, expect, it } from "vitest";
import { reportedBy, type RunOptions } from "../helpers/run.ts";
import { createScriptedAgent, POLITE, type Script } from "../helpers/scripted-agent.ts";

type Update = Readonly<Record<string, unknown>>;

const COUNTED = {
  inputTokens: 6,
  cachedReadTokens: 3,
  cachedWriteTokens: 1,
  outputTokens: 3,
  thoughtTokens: 2,
  totalTokens: 15,
};
const OWN = { inputTokens: 7, cachedTokens: 3, outputTokens: 5, thoughtTokens: 2, totalTokens: 15 };

describe("the cost of a turn", () => {
  it("has the tokens of the answer to the prompt, the session's cost so far, and its context", async () => {
    expect(
      await costOf({
        updates: [
          { sessionUpdate: "usage_update", used: 10, size: 100, cost: { amount: 0.1, currency: "USD" } },
          { sessionUpdate: "usage_update", used: 20, size: 100, cost: { amount: 0.25, currency: "USD" } },
        ],
        result: { usage: COUNTED },
      }),
    ).toEqual({ ...OWN, sessionCost: { amount: 0.25, currency: "USD" }, contextUsed: 20, contextSize: 100 });
  });

  it.each([
    ["@agentclientprotocol/claude-agent-acp", "turn"],
    ["codex-acp", "request"],
    ["OpenCode", "request"],
    ["some-program", undefined],
    ["toString", undefined],
  ])("by the program %s has tokens of the basis %s", async (program, basis) => {
    expect((await costOf({ program, result: { usage: COUNTED } }))?.basis).toBe(basis);
  });

  it("has tokens of the basis that the user names", async () => {
    expect(await costOf({ program: "OpenCode", result: { usage: COUNTED } }, { tokenBasis: "thread" })).toEqual({
      basis: "thread",
      ...OWN,
    });
  });

  it.each([
    ["apart", { outputTokens: 3, inputTokens: 6, cachedReadTokens: 3, cachedWriteTokens: 1, totalTokens: 15 }],
    [
      "apart, but for thoughts",
      { outputTokens: 5, inputTokens: 6, cachedReadTokens: 3, cachedWriteTokens: 1, totalTokens: 15 },
    ],
    ["twice", { outputTokens: 5, inputTokens: 10, cachedReadTokens: 3, totalTokens: 15 }],
    ["twice, but for thoughts", { outputTokens: 3, inputTokens: 10, cachedReadTokens: 3, totalTokens: 15 }],
  ])("is the same if its program counts cached tokens and thoughts %s", async (_how, usage) => {
    expect(await costOf({ result: { usage: { ...usage, thoughtTokens: 2 } } })).toEqual(OWN);
  });

  it("adds up the requests of Qwen Code, which counts each in a message", async () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, thoughtTokens: 2, cachedReadTokens: 4 };
    const updates = [usage, { totalTokens: -1 }, usage].map((each) => message({ usage: each }));
    const sum = { inputTokens: 12, cachedTokens: 8, outputTokens: 10, thoughtTokens: 4, totalTokens: 30 };

    expect(await costOf({ program: "qwen-code", updates, result: { usage } })).toEqual({ basis: "turn", ...sum });
    expect(await costOf({ program: "qwen-code", updates, result: "fails" })).toEqual({ basis: "turn", ...sum });
    expect(await costOf({ updates })).toBeUndefined();
  });

  it("is read from the metadata of Gemini CLI's answer, with the model if it was one", async () => {
    const token_count = { input_tokens: 20, output_tokens: 6 };
    const quota = { token_count, model_usage: [{ model: "gemini-2.5-flash", token_count }] };
    const two = { token_count, model_usage: [{ model: "a" }, { model: "b" }] };
    const tokens = { basis: "turn", inputTokens: 20, outputTokens: 6 };

    const [program, model] = ["gemini-cli", "gemini-2.5-flash"];
    expect(await costOf({ program, result: { _meta: { quota } } })).toEqual({ ...tokens, model });
    expect(await costOf({ program, result: { _meta: { quota: two } } })).toEqual(tokens);
    expect(await costOf({ result: { _meta: { quota } } })).toBeUndefined();
  });

  it("names the model that budgie asked for", async () => {
    expect(await costOf({ result: { usage: COUNTED } }, { model: "m1" })).toEqual({ ...OWN, model: "m1" });
  });

  it("is known of a turn that fails, and of one that answers its cancellation", async () => {
    const updates = [{ sessionUpdate: "usage_update", used: 10, size: 100 }];
    const cancelling = new AbortController();

    expect(await costOf({ updates, result: "fails" })).toEqual({ contextUsed: 10, contextSize: 100 });
    const cancelled = createScriptedAgent({
      ...POLITE,
      "session/prompt": async (_params, side) => {
        const told = side.notified("session/cancel");
        cancelling.abort();
        await told;
        return { stopReason: "cancelled", usage: COUNTED };
      },
    });
    expect(await reportedBy(cancelled, { signal: cancelling.signal })).toEqual(OWN);
  });

  it("is Kiro's credits, by its last metadata", async () => {
    const metadata = [[{ value: 5, unit: "credit" }], credits(0.1, 0.2)].map((meteringUsage) => ({
      method: "_kiro.dev/metadata",
      params: { sessionId: "c1", contextUsagePercentage: 5, meteringUsage },
    }));

    expect(await costOf({ messages: metadata })).toEqual({ credits: 0.3 });
  });

  it("is not that of another session, nor what the agent did not say", async () => {
    const params = { sessionId: "other", meteringUsage: credits(1) };

    expect(await costOf({ messages: [{ method: "_kiro.dev/metadata", params }] })).toBeUndefined();
  });

  it.each<readonly [string, Update, unknown]>([
    ["negative", { cost: { amount: -1, currency: "USD" }, used: -1 }, { inputTokens: -1 }],
    ["too large", { cost: { amount: 1e300, currency: "USD" }, size: 1e300 }, { totalTokens: 1e300 }],
    ["no number", { cost: { amount: "1", currency: "USD" }, used: "7" }, { outputTokens: "7" }],
    ["half a token", { used: 0.5 }, { inputTokens: 0.5, thoughtTokens: 0.5, cachedReadTokens: Number.NaN }],
    ["in no currency", { cost: { amount: 1, currency: "\u001B[31m" } }, null],
    ["in a currency of many words", { cost: { amount: 1, currency: "x".repeat(21) } }, "much"],
  ])("leaves out a figure that is %s", async (_what, update, usage) => {
    expect(
      await costOf({ updates: [{ sessionUpdate: "usage_update", ...update }, message({ usage })], result: { usage } }),
    ).toBeUndefined();
  });

  it("counts no more than 100 entries of a list", async () => {
    const meteringUsage = credits(...Array.from({ length: 5_000 }, () => 1));
    const message = { method: "_kiro.dev/metadata", params: { sessionId: "c1", meteringUsage } };

    expect(await costOf({ messages: [message] })).toEqual({ credits: 100 });
  });
});

function credits(...values: readonly number[]) {
  return values.map((value) => ({ value, unit: "credit" }));
}

function message(_meta: object): Update {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "" }, _meta };
}

type Told = {
  readonly program?: string;
  readonly updates?: readonly Update[];
  readonly messages?: readonly unknown[];
  /** The fields of the answer to the prompt */
  readonly result?: object | "fails";
};

function costOf({ messages = [], program, result = {}, updates = [] }: Told, options?: RunOptions) {
  const script: Script = {
    ...POLITE,
    initialize: () => ({ protocolVersion: 1, ...(program && { agentInfo: { name: program } }) }),
    "session/set_model": () => ({}),
    "session/prompt": (_params, side) => {
      for (const update of updates) side.update(update);
      for (const message of messages) side.send(message);
      side.say("Hello.");
      if (typeof result === "string") throw { code: -32603, message: "It fails." };
      return { stopReason: "end_turn", ...result };
    },
  };
  return reportedBy(createScriptedAgent(script), options);
}
