import { describe, expect, it } from "vitest";
import { agentInput, invokeInput, noInput, parseToolInput } from "../../../src/mcp/tools/parse-tool-input.ts";

describe("parseToolInput", () => {
  it("drops the `purpose` argument that Kiro adds", () => {
    const input = { prompt: "p", directory: "/d", sessionId: "s", __tool_use_purpose: "to review" };

    expect(parseToolInput(agentInput, input)).toEqual({ prompt: "p", directory: "/d", sessionId: "s" });
    expect(parseToolInput(noInput, { __tool_use_purpose: "to look" })).toEqual({});
  });

  it("treats null as omitted", () => {
    const nothing = { sessionId: null, workspace: null, egress: null, timeout: null };

    expect(parseToolInput(agentInput, { prompt: "p", directory: "/d", ...nothing })).toEqual({
      prompt: "p",
      directory: "/d",
    });
  });

  it("treats missing arguments as an empty object", () => {
    expect(parseToolInput(noInput, undefined)).toEqual({});
  });

  it.each([
    [
      { prompt: "p", directory: "/d", session_id: "s", cwd: "/" },
      'The tool has no argument "session_id", "cwd". Its arguments are: prompt, directory, sessionId, workspace, refresh, egress, timeout, budget.',
    ],
    [
      { prompt: "p" },
      'The argument "directory" is missing. Absolute path of the directory that the agent works in, or one below ~/. It must exist.',
    ],
    [{ prompt: 1, directory: "/d" }, 'The argument "prompt" must be a text.'],
    [
      { prompt: "p", directory: null },
      'The argument "directory" is missing. Absolute path of the directory that the agent works in, or one below ~/. It must exist.',
    ],
    [{ prompt: "p", directory: "/d", workspace: "" }, 'The argument "workspace" must be "rw", "copy" or "ro".'],
    [{ prompt: "p", directory: "/d", egress: true }, 'The argument "egress" must be one of none, allowlist, open.'],
    [{ prompt: "p", directory: "/d", timeout: 60 }, 'The argument "timeout" must be a text.'],
  ])("refuses %j", (input, message) => {
    expect(() => parseToolInput(agentInput, input)).toThrow(
      expect.objectContaining({ code: "INPUT_INVALID", message }),
    );
  });

  it("refuses the same arguments of invoke_agent as of an agent's own tool", () => {
    expect(() => parseToolInput(invokeInput, { agent: "a", prompt: "p", directory: "/d", session_id: "s" })).toThrow(
      'The tool has no argument "session_id". Its arguments are: agent, prompt, directory, sessionId, workspace, refresh, egress, ' +
        "timeout, budget.",
    );
    expect(() => parseToolInput(invokeInput, { prompt: "p", directory: "/d" })).toThrow(
      'The argument "agent" is missing. The agent\'s name, as list_agents has it.',
    );
  });

  it("refuses any argument of a tool that has none", () => {
    expect(() => parseToolInput(noInput, { agent: "x" })).toThrow(
      'The tool has no argument "agent". Its arguments are: none.',
    );
  });
});
