import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

/** Writes the example files from the README of the original budgie, and returns the options that name them. */
export function writeOriginalExamples({ host }: BudgieUser): readonly string[] {
  const agentsDir = join(host.home, "original-agents");
  const promptsDir = join(host.home, "original-prompts");
  mkdirSync(agentsDir);
  mkdirSync(promptsDir);
  const orchestrator = {
    name: "orchestrator",
    description: "Master orchestrator agent",
    mcpServers: { "kiro-subagents": { command: "/path/to/budgie", args: [], type: "stdio" } },
    tools: ["@kiro-subagents"],
  };
  const testAgent = {
    name: "test-agent",
    description: "sub-agent: Validation and testing specialist",
    allowedTools: ["fs_read", "fs_write"],
  };
  const analyzer = { ...testAgent, name: "Codebase_Analyzer v2", description: "SUB-AGENT:   Reads code" };
  writeFileSync(join(agentsDir, "orchestrator.json"), JSON.stringify(orchestrator));
  writeFileSync(join(agentsDir, "test-agent.json"), JSON.stringify(testAgent));
  writeFileSync(join(agentsDir, "analyzer.json"), JSON.stringify(analyzer));
  writeFileSync(join(agentsDir, "plain.json"), JSON.stringify({ name: "plain", description: "No tool of budgie's" }));
  writeFileSync(join(promptsDir, "test-agent.md"), ORIGINAL_PROMPT);
  return ["--agents-dir", agentsDir, "--prompts-dir", promptsDir];
}

const ORIGINAL_PROMPT = `---
name: test-agent
description: Validation and testing specialist for MCP server functionality
capabilities:
  - Tool validation
  - Session management testing
  - Integration testing
use_when:
  - RequestedHost to validate MCP tools
  - Testing session persistence
avoid_when:
  - Writing production code
  - Deployment tasks
tools:
  - fs_read
  - fs_write
  - execute_bash
model: claude-3-5-sonnet-20241022
tags:
  - testing
  - validation
  - mcp
---

# Test Agent

You are a specialized testing agent...
`;
