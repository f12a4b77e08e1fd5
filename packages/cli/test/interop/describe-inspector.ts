import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallToolResult, ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import { createBudgieUser, toText, type BudgieUser } from "../helpers/start-budgie.ts";
import { runProgram, toInteropPath, type Address, type Served } from "./clients.ts";

const PROGRAM = toInteropPath("node_modules/@modelcontextprotocol/inspector/cli/build/cli.js");

/** Describes the output of the MCP Inspector's command line for a budgie. */
export function describeInspector(where: string, serve: (user: BudgieUser) => Promise<Served>): void {
  describe(`the MCP Inspector's command line ${where}`, () => {
    let user: BudgieUser;
    let served: Served;
    let target: readonly string[];

    beforeAll(async () => {
      user = await createBudgieUser();
      served = await serve(user);
      target = toTarget(served.address, user);
    });
    afterAll(async () => {
      await served.end();
      await user[Symbol.asyncDispose]();
    });

    it("lists the tools, in their order", async () => {
      const { stdout } = await inspect("tools/list");

      const { tools } = JSON.parse(stdout) as ListToolsResult;
      expect(tools.map(({ name }) => name)).toEqual([
        "kiro-subagents.code-reviewer",
        "kiro-subagents.health-check",
        "kiro-subagents.reader",
        "kiro-subagents.shell-worker",
      ]);
    });

    it("receives an agent's answer", async () => {
      const { stdout } = await call("code-reviewer", "Hello");

      const result = JSON.parse(stdout) as CallToolResult;
      expect(toText(result)).toBe("You asked: Hello");
      expect(result.structuredContent).toMatchObject({ agent: "code-reviewer" });
    });

    it("receives the error of a failed call", async () => {
      const { stdout } = await call("code-reviewer", "[[fault silent]]");

      const result = JSON.parse(stdout) as CallToolResult;
      expect(result.isError).toBe(true);
      expect(toText(result)).toMatch(/^AGENT_FAILED: /);
    });

    it("gets a protocol error for an unknown tool", async () => {
      const { exitCode, stderr, stdout } = await call("nobody", "Hello");

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
      expect(stderr).toContain('MCP error -32602: There is no tool "kiro-subagents.nobody".');
    });

    function call(agent: string, prompt: string): ReturnType<typeof runProgram> {
      const input = ["--tool-arg", `prompt=${prompt}`, `directory=${user.workspace}`];
      return inspect("tools/call", "--tool-name", `kiro-subagents.${agent}`, ...input);
    }

    function inspect(method: string, ...args: readonly string[]): ReturnType<typeof runProgram> {
      return runProgram([PROGRAM, "--cli", ...target, "--method", method, ...args]);
    }
  });
}

/** Returns the Inspector's arguments for a server. A program with options of its own must be in a file. */
function toTarget(address: Address, { host }: BudgieUser): readonly string[] {
  if ("url" in address) {
    return [address.url, "--transport", "http", "--header", `Authorization: Bearer ${address.token}`];
  }
  const file = join(host.home, "mcp.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { budgie: { type: "stdio", ...address } } }));
  return ["--config", file, "--server", "budgie"];
}
