import { describe, expect, it } from "vitest";
import { toAgentsResult } from "../../../src/mcp/calls/to-agents-result.ts";
import { createAgent } from "../../../../cli/test/helpers/create-agent.ts";

describe("toAgentsResult", () => {
  it("lists the agents in order, as text and as structured content", () => {
    const agents = [createAgent("writer", { whenToUse: "Use when:\n- Always" }), createAgent("Reader")];

    expect(toAgentsResult(agents)).toEqual({
      content: [{ type: "text", text: "Reader\n  About Reader\n\nwriter\n  About writer\n\n  Use when:\n  - Always" }],
      structuredContent: {
        agents: [
          { name: "Reader", description: "About Reader", whenToUse: "" },
          { name: "writer", description: "About writer", whenToUse: "Use when:\n- Always" },
        ],
      },
    });
  });

  it("says what an agent can do in its sandbox, unless there are too many agents for that", () => {
    const sandbox = "It runs in a sandbox: it has no network.";
    const [few, many] = [1, 1000].map((count) =>
      toAgentsResult(Array.from({ length: count }, (_, at) => ({ ...createAgent(`agent-${at}`), sandbox }))),
    );

    expect(few?.content).toEqual([{ type: "text", text: `agent-0\n  About agent-0\n\n  ${sandbox}` }]);
    expect(few?.structuredContent?.["agents"]).toEqual([expect.objectContaining({ sandbox })]);
    expect(JSON.stringify(many)).not.toContain(sandbox);
  });

  it("says that there are none", () => {
    expect(toAgentsResult([])).toEqual({
      content: [{ type: "text", text: "There are no agents." }],
      structuredContent: { agents: [] },
    });
  });

  it("fits 500 agents, and when to use each", () => {
    const facts = { description: "€".repeat(5_000), whenToUse: "Use when:\n- Always" };
    const agents = Array.from({ length: 500 }, (_, index) => createAgent(`agent-${index}`, facts));

    const { content, structuredContent } = toAgentsResult(agents);

    const text = content[0]?.type === "text" ? content[0].text : "";
    expect(text.match(/^agent-\d+$/gm)).toHaveLength(500);
    expect(text.match(/^ {2}- Always$/gm)).toHaveLength(500);
    expect(text).not.toContain("\uFFFD");
    expect(Buffer.byteLength(text)).toBeLessThan(120_000);
    expect(Buffer.byteLength(JSON.stringify(structuredContent))).toBeLessThan(150_000);
  });
});
