import { describe, expect, it } from "vitest";
import { toV2Definition } from "../../../src/kiro/v2/to-v2-definition.ts";

describe("toV2Definition", () => {
  it("returns V2's own JSON as it is", () => {
    const definition = {
      name: "a",
      description: "sub-agent: A",
      prompt: "file:///p.md",
      tools: ["*"],
      allowedTools: ["fs_read"],
      hooks: { agentSpawn: [{ command: "x" }] },
      toolsSettings: { execute_bash: { allowedCommands: ["ls"] } },
      keyOfTomorrow: 1,
    };

    expect(toV2Definition(definition, "/agents/a.json")).toEqual(definition);
  });

  it("leaves out what V2 would refuse, and translates rules and hooks", () => {
    const definition = {
      name: "team/a",
      description: "sub-agent: A",
      prompt: "Do it.",
      tools: ["read", "shell"],
      permissions: {
        rules: [
          { capability: "fs_read", effect: "allow" as const },
          { capability: "shell", effect: "deny" as const },
        ],
      },
      hooks: [{ trigger: "PreToolUse", matcher: "write", command: "guard.sh" }],
      mcpServers: { git: { command: "git-mcp" } },
      includePowers: true,
      color: "blue",
    };

    expect(toV2Definition(definition, "/agents/team/a.md")).toEqual({
      name: "team/a",
      description: "sub-agent: A",
      prompt: "Do it.",
      tools: ["read"],
      allowedTools: ["read", "fs_read", "grep", "glob"],
      hooks: { preToolUse: [{ matcher: "fs_write", command: "guard.sh" }] },
      mcpServers: { git: { command: "git-mcp" } },
    });
  });

  it("refuses an agent with a guard that V2 would not run", () => {
    const hooks = [{ trigger: "PreToolUse", action: { type: "agent" } }];

    expect(() => toV2Definition({ name: "a", hooks }, "/agents/a.md")).toThrow(
      expect.objectContaining({
        code: "AGENT_NOT_FOUND",
        message: expect.stringMatching(/^The agent "a" \(\/agents\/a\.md\) cannot run on Kiro's V2 harness: a guard /),
      }),
    );
  });
});
