import { describe, expect, it } from "vitest";
import { measureTools, type ToolStats } from "../../src/commands/tool-stats.ts";
import { createAgent, TOOL_OPTIONS } from "../helpers/create-agent.ts";

function toModelBytes(stats: ToolStats): Readonly<Record<string, number>> {
  return Object.fromEntries(stats.modes.map(({ mode, model }) => [mode, model.bytes]));
}

const toStats = (count: number): ToolStats => {
  const facts = { description: "Validates things".repeat(8), whenToUse: `Use when:\n- ${"Always".repeat(8)}` };
  const agents = Array.from({ length: count }, (_, index) => createAgent(`agent-${index}`, facts));
  return measureTools(agents, TOOL_OPTIONS);
};

describe("measureTools", () => {
  it("gives the router the same cost for any number of agents", () => {
    const [few, many] = [toModelBytes(toStats(1)), toModelBytes(toStats(50))];

    expect(many["router"]).toBe(few["router"]);
    expect(many["agents"]).toBeGreaterThan(10 * (few["agents"] ?? 0));
  });

  it("shows that the router saves from three agents on, including an answer of list_agents, and nothing for one", () => {
    const [one, three] = [toStats(1), toStats(3)];

    expect(toModelBytes(one)["router"]).toBeGreaterThan((toModelBytes(one)["agents"] ?? 0) - 200);
    expect((toModelBytes(three)["router"] ?? 0) + three.listAgents.bytes).toBeLessThan(
      toModelBytes(three)["agents"] ?? 0,
    );
  });

  it("does not count fields that clients keep from the model", () => {
    const [{ answer, model } = { answer: { bytes: 0 }, model: { bytes: 0 } }] = toStats(3).modes;

    expect(model.bytes).toBeGreaterThan(0);
    expect(model.bytes).toBeLessThan(answer.bytes);
  });
});
