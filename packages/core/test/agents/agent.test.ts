import { describe, expect, it } from "vitest";
import { AGENT_NAME, PLAIN_NAME, withoutSubAgentPrefix } from "../../src/agents/agent.ts";

describe("AGENT_NAME", () => {
  it.each(["test-agent", "a", "Prüfer 2", "9lives", "a.b", "日本", "a--b", "team/planner", "a/b/c.d"])(
    "accepts the name %j",
    (name) => {
      expect(AGENT_NAME.test(name)).toBe(true);
    },
  );

  it.each(["", " ", "-x", "--model", ".hidden", "..", "../x", "/x", "x/", "a//b", "a/../b", "a/.b", "a/-b", "a/ b"])(
    "refuses the name %j",
    (name) => {
      expect(AGENT_NAME.test(name)).toBe(false);
    },
  );

  it.each(["a\\b", "a\nb", "a\0", "\0", "\u0001x", "a/\0b"])("refuses the name %j", (name) => {
    expect(AGENT_NAME.test(name)).toBe(false);
  });

  it("has no slash in other names, such as a server's", () => {
    expect(PLAIN_NAME.test("team/planner")).toBe(false);
    expect(PLAIN_NAME.test("planner")).toBe(true);
  });
});

describe("withoutSubAgentPrefix", () => {
  it.each([
    ["sub-agent: Reviews code", "Reviews code"],
    ["Sub-Agent: Reviews code", "Reviews code"],
    ["SUB-AGENT:Reviews code", "Reviews code"],
    ["  sub-agent:   Reviews\ncode  ", "Reviews\ncode"],
    ["sub-agent: sub-agent: x", "sub-agent: x"],
    ["sub-agent:", ""],
  ])("strips the prefix of %j", (description, stripped) => {
    expect(withoutSubAgentPrefix(description)).toBe(stripped);
  });

  it.each(["", "Reviews code", "a sub-agent: x", "sub-agent Reviews", "subagent: x", "sub agent: x"])(
    "does not treat %j as a sub-agent",
    (description) => {
      expect(withoutSubAgentPrefix(description)).toBeUndefined();
    },
  );
});
