import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import type { CallToolResult, InitializeResult, ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import { kiroCliPath } from "@budgie/testkit";
import { startHttpBudgie, type HttpBudgie } from "../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import { createBudgieUser, toText, type Budgie, type BudgieUser } from "../helpers/start-budgie.ts";

// The manager of Kiro's open ancestor declares no capabilities at all.
const ME = { capabilities: {}, clientInfo: { name: "Q DEV CLI", version: "1.0.0" } };

// Its library began with the first, and now uses the second.
const REVISIONS = ["2024-11-05", "2025-03-26"];

/** Sends a message to a budgie, and returns its response to a request. */
type Say = (message: { readonly method: string; readonly id?: number; readonly params?: unknown }) => Promise<unknown>;

describe.each(REVISIONS)("Kiro's MCP manager that speaks %s", (protocolVersion) => {
  it("gets the expected answers over stdio", async () => {
    await using user = await createUser();
    const { child, said, say } = startOverStdio(user);

    const seen = await talk(say, { protocolVersion, directory: user.workspace });
    child.stdin?.end();
    const [exitCode] = (await once(child, "close")) as [number | null];

    expectWhatKiroTakes(seen, protocolVersion);
    // Kiro requests no progress, and understands no message other than an answer.
    expect(said).toHaveLength(4);
    expect(exitCode).toBe(0);
  });

  it("gets the expected answers over HTTP", async () => {
    await using user = await createUser();
    await using budgie = await startHttpBudgie(user);

    const seen = await talk(toSay(budgie), { protocolVersion, directory: user.workspace });

    expectWhatKiroTakes(seen, protocolVersion);
  });
});

describe("the probe of Kiro's MCP manager", () => {
  it("is not asked to log in if it sends the token", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);

    const probe = await budgie.send({ method: "POST" });
    const unauthorized = await budgie.send({ method: "POST", headers: { authorization: "Bearer another" } });

    // With 401, 403 or this header, Kiro would open a browser.
    expect({ status: probe.status, login: probe.headers.get("www-authenticate") }).toEqual({
      status: 400,
      login: null,
    });
    expect(probe.headers.get("mcp-session-id")).toBeNull();
    expect(unauthorized.status).toBe(401);
  });
});

/** Creates a user with an agent whose name clients have to change. */
async function createUser(): Promise<BudgieUser> {
  const user = await createBudgieUser();
  const agent = { name: "Codebase_Analyzer v2", description: "sub-agent: Reads code" };
  writeFileSync(join(user.host.agentsDir, "analyzer.json"), JSON.stringify(agent));
  return user;
}

type Seen = {
  readonly begun: InitializeResult;
  readonly listed: ListToolsResult;
  readonly answer: CallToolResult;
  readonly failure: CallToolResult;
};

/** Sends what the manager sends at its start, and makes two calls with its additional argument. */
async function talk(say: Say, { directory, protocolVersion }: Record<string, string>): Promise<Seen> {
  const begun = await say({ id: 0, method: "initialize", params: { protocolVersion, ...ME } });
  await say({ method: "notifications/initialized" });
  const listed = await say({ id: 1, method: "tools/list" });
  const call = (id: number, prompt: string): Promise<unknown> => {
    const input = { prompt, directory, __tool_use_purpose: "To have it reviewed" };
    return say({ id, method: "tools/call", params: { name: "kiro-subagents.code-reviewer", arguments: input } });
  };
  const answer = await call(2, "Hello");
  const failure = await call(3, "[[fault silent]]");
  return { begun, listed, answer, failure } as Seen;
}

function expectWhatKiroTakes({ answer, begun, failure, listed }: Seen, protocolVersion: string): void {
  expect(begun).toMatchObject({ protocolVersion, capabilities: { tools: { listChanged: true } } });
  // Kiro would wait for lists of other capabilities too.
  expect(Object.keys(begun.capabilities)).toEqual(["tools"]);
  // With a cursor, Kiro would request the last page forever.
  expect(listed.nextCursor).toBeUndefined();
  expect(listed.tools.map(({ name }) => toKiroName(name))).toEqual([
    "kirosubagentscodereviewer",
    "kirosubagentscodebase_analyzerv2",
    "kirosubagentshealthcheck",
    "kirosubagentsreader",
    "kirosubagentsshellworker",
  ]);
  for (const { description = "" } of listed.tools) expect(description).toMatch(/^[\0-\x7F]{1,10000}$/);
  // Kiro treats any result as a success, so the text must report an error.
  expect(toText(answer)).toBe("You asked: Hello");
  expect(toText(failure)).toMatch(/^AGENT_FAILED: /);
}

/** Deletes invalid characters, rather than replacing them. */
function toKiroName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_]/g, "");
}

type OverStdio = { readonly child: Budgie["child"]; readonly say: Say; readonly said: readonly unknown[] };

function startOverStdio(user: BudgieUser): OverStdio {
  const child = user.launch(["--kiro-binary", kiroCliPath]);
  child.stderr?.resume();
  const said: unknown[] = [];
  const lines = child.stdout === null ? undefined : createInterface({ input: child.stdout });
  lines?.on("line", (line) => void said.push(JSON.parse(line)));
  return {
    child,
    said,
    async say(message) {
      child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
      if (message.id === undefined || lines === undefined) return undefined;
      const [line] = (await once(lines, "line")) as [string];
      return (JSON.parse(line) as { result: unknown }).result;
    },
  };
}

function toSay({ send }: HttpBudgie): Say {
  const headers: Record<string, string> = {};
  return async (message) => {
    const response = await send({ method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
    const body = await response.text();
    const id = response.headers.get("mcp-session-id");
    if (id !== null) headers["mcp-session-id"] = id;
    if (message.id === undefined) return undefined;
    const events = [...body.matchAll(/^data: (\{.*)$/gm)].map(
      ([, data = ""]) => JSON.parse(data) as { result: unknown },
    );
    expect(events).toHaveLength(1);
    return events[0]?.result;
  };
}
