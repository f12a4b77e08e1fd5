import { readFileSync } from "node:fs";
import { parseDuration } from "@budgie/core/text";
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

  it.each(readTable())("gives %s the deadline of %s that docs/long-calls.md names", (name, deadline) => {
    expect(findSoftDeadlineMs("auto", { name, version: "1" })).toBe(parseDuration(deadline, "the deadline"));
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

/** Returns the names of clients on the page, each with its deadline. */
function readTable(): readonly (readonly [name: string, deadline: string])[] {
  const page = readFileSync(new URL("../../../../../docs/long-calls.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && line.includes("`"));
  return rows.flatMap((row) => {
    const [, , names = "", , deadline = ""] = row.split("|");
    return [...names.matchAll(/`([^`]+)`/g)].map(
      ([, name = ""]) => [name, deadline.replace("min", "m").replaceAll(" ", "")] as const,
    );
  });
}
