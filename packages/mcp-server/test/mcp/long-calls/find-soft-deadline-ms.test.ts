import { describe, expect, it } from "vitest";
import { findSoftDeadlineMs } from "../../../src/mcp/long-calls/find-soft-deadline-ms.ts";

describe("findSoftDeadlineMs", () => {
  it.each([
    ["claude-ai", 50_000],
    ["local-agent-mode-budgie", 50_000],
    ["Java SDK MCP Client", 15_000],
    ["Zed", 50_000],
    ["Cline", 50_000],
    ["copilot-cli", 50_000],
    ["github-copilot-developer", 50_000],
    ["codex-mcp-client", 240_000],
    ["cursor-vscode", 240_000],
    ["claude-code", undefined],
    ["Q DEV CLI", undefined],
    ["Visual Studio Code", undefined],
    ["not-claude-ai", undefined],
    ["My Java SDK MCP Client", undefined],
    ["claude-ai-2", undefined],
    ["", undefined],
  ])("gives %j %j ms if the client's limit decides", (name, deadlineMs) => {
    expect(findSoftDeadlineMs("auto", { name, version: "1" })).toBe(deadlineMs);
  });

  it("gives none to a client that has not named itself", () => {
    expect(findSoftDeadlineMs("auto", undefined)).toBeUndefined();
  });

  it("uses the configured deadline for any client", () => {
    const clients = [undefined, { name: "claude-ai", version: "1" }, { name: "claude-code", version: "1" }];

    expect(clients.map((client) => findSoftDeadlineMs(1234, client))).toEqual([1234, 1234, 1234]);
    expect(clients.map((client) => findSoftDeadlineMs("never", client))).toEqual([undefined, undefined, undefined]);
  });
});
