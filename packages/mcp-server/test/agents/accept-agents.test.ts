import { describe, expect, it } from "vitest";
import type { Policy } from "@budgie/core/policy";
import { acceptAgents } from "../../src/agents/accept-agents.ts";
import { createAgent, POLICY, TOOL_OPTIONS } from "../../../cli/test/helpers/create-agent.ts";

const [one, dashed, underscored] = [createAgent("one"), createAgent("a-b"), createAgent("a_b")];
const twin = createAgent("one", { file: "/agents/other.json" });
const long = createAgent("a".repeat(140));
const reserved = createAgent("health-check");
const remote = { url: "http://127.0.0.1:1/a", headers: {}, allowRemote: true };
const toFar = (name: string, file = `http://127.0.0.1:1/${name}`) => createAgent(name, { file, remote });

describe("acceptAgents", () => {
  it("accepts agents that clients can tell apart, as the same list", () => {
    const agents = [one, dashed];

    expect(acceptAgents(agents, TOOL_OPTIONS)).toEqual({ agents, refusals: [] });
    expect(acceptAgents(agents, TOOL_OPTIONS).agents).toBe(agents);
  });

  it.each([
    ["a second agent of one name", { wanted: [one, twin], left: twin, reason: /"\/agents\/one\.json"|"one"/ }],
    [
      "an agent that some client would take for another",
      { wanted: [dashed, one, underscored], left: underscored, reason: /would not tell them apart/ },
    ],
    [
      "an agent with the name of a tool of budgie's",
      { wanted: [reserved, one], left: reserved, reason: /budgie's own tool/ },
    ],
    ["an agent whose tool name is too long", { wanted: [long, one], left: long, reason: /MCP allows 128/ }],
  ])("leaves out %s, and keeps the others", (_what, { left, reason, wanted }) => {
    const { agents, refusals } = acceptAgents(wanted, TOOL_OPTIONS);

    expect(agents).toEqual(wanted.filter((agent) => agent !== left));
    expect(refusals).toEqual([expect.stringMatching(reason)]);
    expect(refusals[0]).toContain(`Until then, "${left.file}" is left out.`);
  });

  it("keeps an agent as it was when its new name collides", () => {
    const renamed = createAgent("one", { file: dashed.file });

    expect(acceptAgents([renamed, one], TOOL_OPTIONS, [dashed, one])).toEqual({
      agents: [dashed, one],
      refusals: [expect.stringContaining(`Until then, "${dashed.file}" stays as it was.`)],
    });
  });

  it("keeps the earlier agent of two when the later has its name, wherever their files are in the folder", () => {
    const first = createAgent("one", { file: "/agents/0.json" });

    expect(acceptAgents([first, one], TOOL_OPTIONS, [one]).agents).toEqual([one]);
  });

  it("keeps an agent of this machine when one elsewhere has a name that reads the same, also one that was there before", () => {
    const [local, far] = [createAgent("re-viewer"), toFar("re.viewer")];

    const fresh = acceptAgents([far, local], TOOL_OPTIONS);
    const later = acceptAgents([far, local], TOOL_OPTIONS, [far]);

    expect([fresh.agents, later.agents]).toEqual([[local], [local]]);
    expect(later.refusals).toEqual([expect.stringContaining(`Until then, "${far.file}" is left out.`)]);
  });

  it("leaves out an agent elsewhere whose section nothing would enforce, and accepts a shorter timeout", () => {
    const far = toFar("re.viewer");
    const accept = (policy: Partial<Policy>) =>
      acceptAgents([one, far], {
        ...TOOL_OPTIONS,
        policies: { ceiling: POLICY, agents: new Map([[far.name, { ...POLICY, ...policy }]]) },
      });

    expect(accept({ workspace: "ro" })).toEqual({
      agents: [one],
      refusals: [
        expect.stringMatching(/^The agent "re\.viewer" \("http\S+"\) runs elsewhere, .* Until then, it is left out\.$/),
      ],
    });
    expect(accept({ timeoutMs: 10 })).toEqual({ agents: [one, far], refusals: [] });
  });
});
