import { describe, expect, it } from "vitest";
import type { UsageReport } from "@budgie/core/runs";
import { TurnEvents } from "@budgie/core/protocol";
import { findUsage } from "../../../src/a2a/wire/find-usage.ts";
import { run } from "../helpers/run.ts";
import { serve } from "../helpers/serve.ts";
import { CARD, sendEvent, withCard } from "../helpers/wires.ts";

const COUNTS = {
  promptTokenCount: 10,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
  totalTokenCount: 15,
};
const TOKENS = { inputTokens: 6, cachedTokens: 4, outputTokens: 5, thoughtTokens: 2, totalTokens: 15 };

describe("the tokens of a request to a remote agent's model", () => {
  it("are told of the last request of a turn, which is added to nothing", async () => {
    const told: UsageReport[] = [];
    const status = (state: string, metadata: object, message: object = {}) => ({
      statusUpdate: { taskId: "t1", contextId: "c1", status: { state: `TASK_STATE_${state}`, message }, metadata },
    });
    const server = await serve(
      withCard(CARD, (_call, response) => {
        sendEvent(response, status("WORKING", { kagent_usage_metadata: { totalTokenCount: 3 } }));
        sendEvent(response, status("WORKING", {}, { metadata: { adk_usage_metadata: COUNTS } }));
        const message = { role: "ROLE_AGENT", parts: [{ text: "Hello." }] };
        sendEvent(response, status("COMPLETED", {}, message));
        response.end();
      }),
    );

    await run(server.url, { events: new TurnEvents().on("usage", (report) => void told.push(report)) });

    expect(told).toEqual([
      { basis: "request", totalTokens: 3 },
      { basis: "request", ...TOKENS },
    ]);
  });

  it.each([
    undefined,
    "much",
    { other_usage_metadata: COUNTS },
    { kagent_usage_metadata: "much" },
    { kagent_usage_metadata: { totalTokenCount: -1, promptTokenCount: 1e300, candidatesTokenCount: "7" } },
    { kagent_usage_metadata: { totalTokenCount: 0.5, promptTokenCount: null, thoughtsTokenCount: [1] } },
  ])("are left out if they are %j", (metadata) => {
    expect(findUsage(metadata)).toBeUndefined();
  });
});
