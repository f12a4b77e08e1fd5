import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { createOwner } from "@budgie/core";
import { createRunLog } from "@budgie/store";
import { isAlive, kiroCliPath } from "@budgie/testkit";
import { budgiePath, createBudgieUser, toText, waitFor, type BudgieUser } from "../helpers/start-budgie.ts";
import { createWire } from "../mcp/http/http-place.ts";
import { startHttpBudgie, TOKEN, type HttpBudgie } from "../mcp/http/start-http-budgie.ts";
import type { Address, Outcome } from "./clients.ts";
import { LANGUAGES, startLanguageClient, type LanguageClient } from "./language-client.ts";

const NAME = "kiro-subagents.code-reviewer";
const TOOLS = [NAME, "kiro-subagents.health-check", "kiro-subagents.reader", "kiro-subagents.shell-worker"];
// Six of these would be more than a megabyte in one message.
const LONG = "long ".repeat(19_800).trim();

let user: BudgieUser;
let budgie: HttpBudgie;
beforeAll(async () => {
  user = await createBudgieUser();
  budgie = await startHttpBudgie(user, { args: ["--heartbeat", "250ms"] });
});
afterAll(async () => {
  await budgie[Symbol.asyncDispose]();
  await user[Symbol.asyncDispose]();
});

const overHttp = ({ href }: URL): Address => ({ url: href, token: TOKEN });
const overStdio = (): Address => {
  const log = { BUDGIE_ENV: "FAKE_KIRO_LOG", FAKE_KIRO_LOG: join(user.host.home, "kiro-calls") };
  const env = { HOME: user.host.home, PATH: process.env["PATH"] ?? "", BUDGIE_KIRO_BINARY: kiroCliPath, ...log };
  return { command: process.execPath, args: [budgiePath], env };
};

describe.each(LANGUAGES)("the SDK of %s", (language) => {
  describe.each([
    ["stdio", overStdio],
    ["HTTP", () => overHttp(budgie.url)],
  ])("over %s", (_where, toAddress) => {
    it("lists the tools, calls, resumes and cancels", async () => {
      await using client = startLanguageClient(language);

      const seen = await client.connect(toAddress());
      const nothing = { sessionId: null, workspace: null, timeout: null };
      const first = resultOf(await ask(client, { prompt: "Keep the word token-parakeet.", ...nothing }));
      const second = resultOf(await ask(client, { prompt: "[[recall]]", sessionId: toSessionId(first) }));
      const wrong = resultOf(await ask(client, { prompt: "Hello", session_id: "1" }));
      const unknown = await client.call({ name: "kiro-subagents.nobody", arguments: {} });
      const before = user.kiroCalls().length;
      const late = await ask(client, { prompt: "[[sleep 300000]]" }, 3_000);
      const agent = user.kiroCalls()[before];
      const after = resultOf(await ask(client, { prompt: "Hello again" }));

      expect(seen).toMatchObject({ server: { name: "budgie" }, revision: "2025-11-25", tools: TOOLS });
      expect(first.isError ?? false).toBe(false);
      expect(first.structuredContent).toMatchObject({ agent: "code-reviewer" });
      expect(toText(second)).toBe("token-parakeet");
      expect(wrong).toMatchObject({ isError: true, structuredContent: { code: "INPUT_INVALID" } });
      expect(unknown.error).toMatchObject({ code: -32602, message: 'There is no tool "kiro-subagents.nobody".' });
      expect(late.error?.message).toMatch(/timed out|deadline exceeded/);
      expect(late.progress.length).toBeGreaterThan(1);
      await waitFor(() => agent !== undefined && !isAlive(agent.pid));
      expect(toText(after)).toBe("You asked: Hello again");
    });
  });

  it("receives all missed answers, over several calls", async () => {
    await using client = startLanguageClient(language);
    await client.connect(overHttp(budgie.url));
    const answers = [resultOf(await ask(client, { prompt: `[[say: ${LONG}]]` }))];
    const sessionId = toSessionId(answers[0]);
    for (let more = 0; more < 5; more++) {
      answers.push(resultOf(await ask(client, { prompt: `[[say: ${LONG}]]`, sessionId })));
    }
    await forget(answers.map(({ structuredContent }) => String(structuredContent?.["runId"])));

    const facts: { readonly missed: readonly object[]; readonly moreMissed?: number }[] = [];
    for (let call = 0; call < 4; call++) {
      const { structuredContent } = resultOf(await ask(client, { prompt: "[[say: And on.]]", sessionId }));
      facts.push(structuredContent as (typeof facts)[number]);
    }

    expect(facts.map(({ missed, moreMissed }) => [missed.length, moreMissed])).toEqual([
      [2, 4],
      [2, 2],
      [2, undefined],
      [0, undefined],
    ]);
    expect(new Set(facts.flatMap(({ missed }) => missed.map((one) => JSON.stringify(one)))).size).toBe(6);
  });

  it("resumes a call whose connection was cut", async () => {
    await using client = startLanguageClient(language);
    const wire = await createWire(budgie.url);
    await client.connect(overHttp(wire.url));

    const before = user.kiroCalls().length;
    const asking = ask(client, { prompt: "[[sleep 2000]][[say: It survived.]]" });
    await waitFor(() => user.kiroCalls()[before]);
    wire.cut();

    expect(toText(resultOf(await asking))).toBe("It survived.");
  });

  it("is answered when budgie ends in the middle of a call, and connects to the next one", async () => {
    await using client = startLanguageClient(language);
    await using ending = await startHttpBudgie(user);
    await client.connect(overHttp(ending.url));

    const before = user.kiroCalls().length;
    const asking = ask(client, { prompt: "[[sleep 300000]]" });
    await waitFor(() => user.kiroCalls()[before]);
    const exitCode = await ending.end("SIGTERM");
    const cancelled = resultOf(await asking);
    const again = await client.connect(overHttp(budgie.url));

    expect(exitCode).toBe(0);
    expect(cancelled).toMatchObject({ isError: true, structuredContent: { code: "CANCELLED" } });
    expect(again.tools).toEqual(TOOLS);
  });
});

it.each([
  ["stdio", overStdio],
  ["HTTP", () => overHttp(budgie.url)],
])("the SDK of Python is told over %s which revisions budgie speaks, if it speaks only a newer one", async (_, to) => {
  await using client = startLanguageClient("Python");

  const { error } = await client.connect(to(), "2026-07-28");

  expect(error).toMatchObject({ code: -32022, message: expect.stringContaining("It speaks 2025-11-25, ") });
});

function ask(client: LanguageClient, input: object, timeoutMs?: number): Promise<Outcome> {
  const call = { name: NAME, arguments: { directory: user.workspace, ...input } };
  return client.call(timeoutMs === undefined ? call : { ...call, timeoutMs });
}

function resultOf({ error, result }: Outcome): CallToolResult {
  if (result === undefined) throw new Error(`There is no result but ${JSON.stringify(error)}.`);
  return result;
}

function toSessionId(result: CallToolResult | undefined): string {
  return String(result?.structuredContent?.["sessionId"]);
}

/** Records that the client discarded these answers. */
async function forget(runIds: readonly string[]): Promise<void> {
  const stateDir = join(user.host.home, ".local/state/budgie");
  const owner = createOwner({ stateDir, isolation: "none" });
  const log = createRunLog({ stateDir, owner, report: () => undefined });
  await log.dropped(runIds);
  log.close();
}
