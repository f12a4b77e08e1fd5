import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { isAlive } from "@budgie/testkit";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";
import { SOON } from "../long-calls/call-long.ts";
import { startHttpBudgie, type HttpClient } from "./start-http-budgie.ts";

const REMEMBER = "Keep the word token-finch.";
const idOf = ({ structuredContent }: CallToolResult): string => String(structuredContent?.["sessionId"]);

describe("a session of one client", () => {
  it("is unknown to another client, in whatever way it asks, and stays usable for its own", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const [one, two] = [await budgie.connect(), await budgie.connect()];
    const sessionId = idOf(await one.ask("code-reviewer", { prompt: REMEMBER }));
    const unknown = createSessionId();
    const other = join(user.host.home, "other");
    mkdirSync(other);
    const ways = [
      { agent: "code-reviewer", input: { prompt: "[[recall]]" } },
      { agent: "reader", input: { prompt: "[[recall]]" } },
      { agent: "code-reviewer", input: { prompt: "[[recall]]", directory: other } },
      { agent: "code-reviewer", input: { prompt: "" } },
      { agent: "code-reviewer", input: { prompt: "x", directory: "/no/such/folder" } },
    ];

    const answers = [];
    for (const { agent, input } of ways) {
      const [foreign, really] = [
        await two.ask(agent, { ...input, sessionId }),
        await two.ask(agent, { ...input, sessionId: unknown }),
      ];
      answers.push({ foreign: toJson(foreign).replaceAll(sessionId, unknown), really: toJson(really) });
    }
    const mine = await one.ask("code-reviewer", { prompt: "[[recall]]", sessionId });

    for (const { really, foreign } of answers) expect(foreign).toBe(really);
    expect(answers[0]?.really).toContain("SESSION_NOT_FOUND: There is no session");
    expect(toText(mine)).toBe("token-finch");
  });

  it("does not delay another client that names it while it works", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const [one, two] = [await budgie.connect(), await budgie.connect()];
    const sessionId = idOf(await one.ask("code-reviewer", { prompt: REMEMBER }));
    let isOver = false;
    const working = one
      .ask("code-reviewer", { prompt: "[[sleep 5000]] [[recall]]", sessionId })
      .finally(() => (isOver = true));
    await waitFor(() => user.kiroCalls()[1]);

    const foreign = await two.ask("code-reviewer", { prompt: "x", sessionId });
    const wasOver = isOver;

    expect(toText(foreign)).toMatch(/^SESSION_NOT_FOUND/);
    expect(wasOver).toBe(false);
    expect(toText(await working)).toContain("token-finch");
  });

  it("keeps its undelivered answers from another client, and reports them to its own", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const [one, two] = [await budgie.connect(), await budgie.connect()];
    const sessionId = idOf(await one.ask("code-reviewer", { prompt: REMEMBER }));
    const cutting = new AbortController();
    const call = {
      jsonrpc: "2.0",
      id: 77,
      method: "tools/call",
      params: {
        name: "kiro-subagents.code-reviewer",
        arguments: { prompt: "[[sleep 1000]] [[say: missed-canary]]", directory: user.workspace, sessionId },
      },
    };
    // A protocol version without resumable streams.
    const headers = { "mcp-session-id": one.transport.sessionId ?? "", "mcp-protocol-version": "2025-06-18" };
    await budgie.send({ method: "POST", headers, body: JSON.stringify(call), signal: cutting.signal });
    cutting.abort();
    await waitFor(async () =>
      (await listRuns(user)).some(({ delivered, outcome }) => outcome === "answered" && !delivered),
    );

    const foreign = await two.ask("code-reviewer", { prompt: "x", sessionId });
    const mine = await one.ask("code-reviewer", { prompt: "Hello", sessionId });

    expect(toJson(foreign)).not.toContain("missed-canary");
    expect(toJson(mine)).toContain("missed-canary");
  });

  it("is not in the health check of another client, nor is its directory", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const stdio = await user.start();
    const [one, two] = [await budgie.connect(), await budgie.connect()];
    const failed = await one.ask("code-reviewer", { prompt: "[[fault crash]]" });
    const check = { name: "kiro-subagents.health-check" };

    const over = toJson((await two.client.callTool(check)) as CallToolResult);
    const alone = toJson((await stdio.client.callTool(check)) as CallToolResult);

    const { code, message } = failed.structuredContent as { code: string; message: string };
    expect(failed.isError).toBe(true);
    expect(over).toContain(`"lastError":"${code}"`);
    // Control: stdio sees the same log without restrictions.
    expect(alone).toContain(`"lastError":${JSON.stringify(`${code}: ${message}`)}`);
    expect(over).not.toContain(user.workspace);
  });
});

describe("a run of one client that continues after its call", () => {
  it("is unknown to another client, and cannot be stopped by it", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: SOON });
    const [one, two] = [await budgie.connect(), await budgie.connect()];
    const begun = await one.ask("code-reviewer", { prompt: "[[sleep 60000]]" });
    const runId = String(begun.structuredContent?.["runId"]);
    const unknown = createSessionId();
    const use = async (client: HttpClient, tool: string, input: object): Promise<string> => {
      const call = { name: `kiro-subagents.${tool}`, arguments: { ...input } };
      return toJson((await client.client.callTool(call)) as CallToolResult);
    };

    const answers = [];
    for (const tool of ["status", "wait", "cancel"]) {
      const [foreign, really] = [await use(two, tool, { runId }), await use(two, tool, { runId: unknown })];
      answers.push({ foreign: foreign.replaceAll(runId, unknown), really });
    }
    const [mine, others] = [await use(one, "status", {}), await use(two, "status", {})];

    for (const { really, foreign } of answers) expect(foreign).toBe(really);
    expect(answers[0]?.really).toContain("RUN_NOT_FOUND");
    expect(mine).toContain(runId);
    expect(others).not.toContain(runId);
    const { pid } = await waitFor(() => user.kiroCalls()[0]);
    expect(isAlive(pid)).toBe(true);
    // The run ends with its client.
    await one.transport.terminateSession();
    await waitFor(() => !isAlive(pid));
  });
});

describe("with --keep-sessions", () => {
  it("resumes a client's sessions for anyone who names them after it has left, and not before", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: ["--keep-sessions"] });
    const [one, two, three] = [await budgie.connect(), await budgie.connect(), await budgie.connect()];
    const sessionId = idOf(await one.ask("code-reviewer", { prompt: REMEMBER }));
    const recall = { prompt: "[[recall]]", sessionId };

    const before = await two.ask("code-reviewer", recall);
    await one.transport.terminateSession();
    const after = await waitFor(async () => {
      const answer = await two.ask("code-reviewer", recall);
      return answer.isError === true ? undefined : answer;
    });
    const late = await three.ask("code-reviewer", recall);

    expect(toText(before)).toMatch(/^SESSION_NOT_FOUND/);
    expect(toText(after)).toBe("token-finch");
    expect(toText(late)).toMatch(/^SESSION_NOT_FOUND/);
  });

  it("gives an earlier budgie's session to one of two clients that name it at the same time", async () => {
    await using user = await createBudgieUser();
    const first = await startHttpBudgie(user, { args: ["--keep-sessions"] });
    const sessionId = idOf(await (await first.connect()).ask("code-reviewer", { prompt: REMEMBER }));
    await first[Symbol.asyncDispose]();
    await using second = await startHttpBudgie(user, { args: ["--keep-sessions"] });
    const clients = [await second.connect(), await second.connect(), await second.connect()];

    const answers = await Promise.all(
      clients.map(({ ask }) => ask("code-reviewer", { prompt: "[[recall]]", sessionId })),
    );

    const texts = answers.map((answer) => toText(answer).slice(0, 17));
    expect(texts.toSorted()).toEqual(["SESSION_NOT_FOUND", "SESSION_NOT_FOUND", "token-finch"]);
  });
});

function toJson({ content, isError, structuredContent }: CallToolResult): string {
  return JSON.stringify({ content, isError, structuredContent });
}

type Listed = { readonly outcome: string; readonly delivered: boolean };

async function listRuns(user: BudgieUser): Promise<readonly Listed[]> {
  return JSON.parse((await user.command(["runs", "ls", "--json"])).stdout) as Listed[];
}
