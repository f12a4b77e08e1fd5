import { describe, expect, it } from "vitest";
import { toV2Hooks } from "../../../src/kiro/v2/v2-hooks.ts";

describe("toV2Hooks", () => {
  it("leaves V2's own form as it is", () => {
    const hooks = {
      agentSpawn: [{ command: "git status", timeout_ms: 5000 }],
      preToolUse: [{ matcher: "fs_write", command: "guard.sh" }],
    };

    expect(toV2Hooks(hooks)).toEqual(hooks);
  });

  it("lists hooks that name their trigger by it, in V2's spelling", () => {
    const hooks = [
      {
        name: "g",
        trigger: "PreToolUse",
        matcher: "shell",
        action: { type: "command", command: "guard.sh" },
        timeout: 5,
      },
      { trigger: "preToolUse", matcher: "fs_write", command: "other.sh", enabled: true },
      { trigger: "stop", command: "done.sh" },
      { trigger: "stop", command: "off.sh", enabled: false },
      { trigger: "PostFileSave", command: "no hook of V2" },
    ];

    expect(toV2Hooks(hooks)).toEqual({
      preToolUse: [
        { matcher: "execute_bash", timeout_ms: 5000, command: "guard.sh" },
        { matcher: "fs_write", command: "other.sh" },
      ],
      stop: [{ command: "done.sh" }],
    });
  });

  it("flattens those of Claude Code", () => {
    const hooks = { PreToolUse: [{ matcher: "Edit|Bash", hooks: [{ type: "command", command: "guard.sh" }] }] };

    expect(toV2Hooks(hooks)).toEqual({
      preToolUse: [
        { matcher: "fs_write", command: "guard.sh" },
        { matcher: "execute_bash", command: "guard.sh" },
      ],
    });
  });

  it.each(["mcp__.*__write", "Edit|Future", "Bash(rm *)", ".*"])(
    "lets a guard with the matcher %j, which V2 may not know, guard every tool",
    (matcher) => {
      const hooks = [{ trigger: "preToolUse", matcher, command: "guard.sh" }];

      expect(toV2Hooks(hooks)).toEqual({ preToolUse: [{ command: "guard.sh" }] });
    },
  );

  it.each(["Bash|Write", "^execute_.*", ["fs_write"]])(
    "lets a guard with the matcher %j guard every tool also where it is listed by its trigger",
    (matcher) => {
      expect(toV2Hooks({ PreToolUse: [{ matcher, command: "guard.sh", timeout_ms: 9 }] })).toEqual({
        preToolUse: expect.arrayContaining([expect.objectContaining({ command: "guard.sh", timeout_ms: 9 })]),
      });
      expect(JSON.stringify(toV2Hooks({ PreToolUse: [{ matcher, command: "guard.sh" }] }))).not.toContain(
        JSON.stringify(matcher),
      );
    },
  );

  it.each(["pre_tool_use", "pre-tool-use", "PreToolUse "])("knows a guard by its trigger %j", (trigger) => {
    expect(toV2Hooks({ [trigger]: [{ command: "guard.sh" }] })).toEqual({ preToolUse: [{ command: "guard.sh" }] });
  });

  it("guards all tools that read, and keeps the time that a guard has", () => {
    const hooks = [{ trigger: "PreToolUse", matcher: "read", timeout: 300, command: "guard.sh" }];

    expect(toV2Hooks(hooks)).toEqual({
      preToolUse: ["fs_read", "grep", "glob"].map((matcher) => ({ matcher, timeout_ms: 300_000, command: "guard.sh" })),
    });
  });

  it.each([
    ["a number", 7],
    ["text", "guard.sh"],
    ["a hook without a trigger", [{ command: "guard.sh" }]],
    ["a hook that is text", { preToolUse: ["guard.sh"] }],
    ["a guard without a command", [{ trigger: "PreToolUse", action: { type: "agent", prompt: "Check it." } }]],
    ["one of two guards without a command", { PreToolUse: [{ hooks: [{ command: "a.sh" }, { type: "prompt" }] }] }],
  ])("refuses %s, which V2 would not run", (_what, hooks) => {
    expect(() => toV2Hooks(hooks)).toThrow(/^a guard/);
  });
});
