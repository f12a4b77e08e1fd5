import { describe, expect, it } from "vitest";
import { listKiroTools } from "../../src/agents/list-kiro-tools.ts";

describe("listKiroTools", () => {
  it.each<readonly [readonly string[], readonly string[]]>([
    [
      ["Read", "Write", "Edit", "Bash"],
      ["read", "write", "shell"],
    ],
    [
      ["Grep", "Glob", "LS", "NotebookRead", "MultiEdit", "NotebookEdit", "BashOutput", "KillShell"],
      ["read", "write", "shell"],
    ],
    [
      ["WebFetch", "WebSearch", "Task"],
      ["web", "subagent"],
    ],
    [["Bash(git diff)", "Bash(npm test:*)"], ["shell"]],
    [
      ["bash", "edit"],
      ["shell", "write"],
    ],
    [
      ["mcp__git__log", "mcp__docs", "mcp__docs__*"],
      ["@git/log", "@docs"],
    ],
    [["TodoWrite", "ExitPlanMode", "Skill"], []],
  ])("translates Claude Code's %j", (written, kiros) => {
    expect(listKiroTools(written, { partly: true })).toEqual(kiros);
  });

  it.each([
    [["read", "write", "shell", "web", "subagent", "knowledge", "@mcp", "@builtin", "*"]],
    [["fs_read", "fs_write", "execute_bash", "use_aws", "grep", "glob"]],
    [["@server", "@server/tool", "@server/read_*", "fs_*", "future_tool"]],
  ])("leaves Kiro's %j as they are", (written) => {
    expect(listKiroTools(written, { partly: true })).toEqual(written);
  });

  it("allows no tool whose uses the file limits, since a list of tools would allow all its uses", () => {
    const written = ["Read", "Bash(git diff)", "Bash(*)", "WebFetch(domain:example.com)"];

    expect(listKiroTools(written, { partly: false })).toEqual(["read", "shell"]);
    expect(listKiroTools(["Bash(git diff)"], { partly: false })).toEqual([]);
  });
});
