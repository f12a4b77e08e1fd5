import { describe, expect, it } from "vitest";
import { agentFileSchema, allowsFileTools, toSubAgentDescription } from "../../src/agents/agent.ts";

describe("agentFileSchema", () => {
  it.each(["test-agent", "a", "Prüfer 2", "9lives", "a.b", "日本", "a--b"])("accepts the name %j", (name) => {
    expect(agentFileSchema.safeParse({ name }).success).toBe(true);
  });

  it.each([
    "",
    " ",
    "-x",
    "--model",
    ".hidden",
    "..",
    "../x",
    "/x",
    "a/b",
    "a\\b",
    "a\nb",
    "a\0",
    "\0",
    "\u0001x",
    3,
    null,
  ])("refuses the name %j", (name) => {
    expect(agentFileSchema.safeParse({ name }).success).toBe(false);
  });

  it("ignores fields that only Kiro uses", () => {
    const file = { name: "a", mcpServers: { x: { command: "y" } }, tools: ["*"], hooks: {} };

    expect(agentFileSchema.parse(file)).toEqual(file);
  });

  it("accepts null as a description or a prompt, as Kiro does", () => {
    expect(agentFileSchema.safeParse({ name: "a", description: null, prompt: null }).success).toBe(true);
  });
});

describe("toSubAgentDescription", () => {
  it.each([
    ["sub-agent: Reviews code", "Reviews code"],
    ["Sub-Agent: Reviews code", "Reviews code"],
    ["SUB-AGENT:Reviews code", "Reviews code"],
    ["  sub-agent:   Reviews\ncode  ", "Reviews\ncode"],
    ["sub-agent: sub-agent: x", "sub-agent: x"],
    ["sub-agent:", ""],
  ])("strips the prefix of %j", (description, stripped) => {
    expect(toSubAgentDescription(description)).toBe(stripped);
  });

  it.each(["", "Reviews code", "a sub-agent: x", "sub-agent Reviews", "subagent: x", "sub agent: x"])(
    "does not treat %j as a sub-agent",
    (description) => {
      expect(toSubAgentDescription(description)).toBeUndefined();
    },
  );
});

describe("allowsFileTools", () => {
  it.each([
    [["fs_read", "fs_write"]],
    [["read", "write"]],
    [["fs_read", "write", "execute_bash"]],
    [["fs_*"]],
    [["fs_?ead", "fs_writ?"]],
    [["*"]],
    [["@builtin"]],
  ])("is true for the allowed tools %j", (allowedTools) => {
    expect(allowsFileTools({ name: "a", allowedTools })).toBe(true);
  });

  it("requires that the agent's list of tools has them too", () => {
    const allowedTools = ["fs_read", "fs_write"];

    expect(allowsFileTools({ name: "a", allowedTools, tools: ["fs_read", "fs_write"] })).toBe(true);
    expect(allowsFileTools({ name: "a", allowedTools, tools: ["fs_read"] })).toBe(false);
    expect(allowsFileTools({ name: "a", allowedTools, tools: [] })).toBe(false);
  });

  it.each([
    [[]],
    [["fs_read"]],
    [["fs_write"]],
    [["read", "fs_read"]],
    [["@fs_read", "@fs_write"]],
    [["@server", "@server/*"]],
    [["fs.read", "fs.write"]],
    [["fs_rea", "fs_writ"]],
    [["xfs_read", "fs_writex"]],
    [["(fs_read|fs_write)"]],
  ])("is false for the allowed tools %j", (allowedTools) => {
    expect(allowsFileTools({ name: "a", allowedTools })).toBe(false);
  });
});
