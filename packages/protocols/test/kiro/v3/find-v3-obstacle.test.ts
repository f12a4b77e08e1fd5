import { describe, expect, it } from "vitest";
import { findV3Obstacle } from "../../../src/kiro/v3/find-v3-obstacle.ts";

const AGENT = { name: "coder", description: "sub-agent: Codes." };

describe("findV3Obstacle", () => {
  it.each<[string, object]>([
    ["a guard", { hooks: { preToolUse: [{ matcher: "execute_bash", command: "guard" }] } }],
    ["a guard in a list", { hooks: [{ trigger: "PreToolUse", action: { type: "command", command: "guard" } }] }],
    ["a guard of an unknown form", { hooks: { "pre-tool-use": "guard" } }],
  ])("names %s, which nobody has seen block", (_what, fields) => {
    expect(findV3Obstacle({ ...AGENT, ...fields })).toMatch(
      /hooks guard its tools \(preToolUse\), and nobody has seen/,
    );
  });

  it.each<[string, object]>([
    ["excludedTools", { excludedTools: ["shell"] }],
    ["excludedTools", { excludedTools: "shell, write" }],
    ["disallowedTools", { disallowedTools: "Bash" }],
    ["toolsSettings", { toolsSettings: { execute_bash: { deniedCommands: ["rm .*"] } } }],
  ])("names %s, which would restrict nothing", (key, fields) => {
    expect(findV3Obstacle({ ...AGENT, ...fields })).toContain(`"${key}"`);
  });

  it.each<[string, object]>([
    ["other hooks", { hooks: { agentSpawn: [{ command: "git status" }] } }],
    ["empty parts", { hooks: {}, excludedTools: [], toolsSettings: {} }],
    ["settings beside the rules of an upgrade", { toolsSettings: { write: {} }, permissions: { rules: [] } }],
  ])("finds none in %s", (_what, fields) => {
    expect(findV3Obstacle({ ...AGENT, ...fields })).toBeUndefined();
  });
});
