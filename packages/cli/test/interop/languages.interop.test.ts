import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import { createRunLog } from "@budgie/store";
import { isAlive, kiroCliPath } from "@budgie/testkit";
import { budgiePath, createBudgieUser, toText, waitFor, type BudgieUser } from "../helpers/start-budgie.ts";
import { createWire } from "../../../mcp-server/test/mcp/http/http-place.ts";
import { startHttpBudgie, TOKEN, type HttpBudgie } from "../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import { resultOf, toSessionId, type Address, type Outcome } from "./clients.ts";
import { CANCELLING, LANGUAGES, startLanguageClient, type LanguageClient } from "./language-client.ts";

const NAME = "kiro-subagents.code-reviewer";
const TOOLS = ["code-reviewer", "health-check", "reader", "shell-worker"].map((tool) => `kiro-subagents.${tool}`);
// The tools that a client with a soft deadline gets besides
const TOOLS_WITH_WAIT = [...TOOLS, "kiro-subagents.cancel", "kiro-subagents.status", "kiro-subagents.wait"].sort();
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

const WAYS = [
  ["stdio", overStdio],
  ["HTTP", () => overHttp(budgie.url)],
] as const;

describe.each(LANGUAGES)("the SDK of %s", (language) => {
  const tools = language === "Java" ? TOOLS_WITH_WAIT : TOOLS;

  describe.each(WAYS)("over %s", (_where, toAddress) => {
    it("lists the tools, calls, validates and resumes", async () => {
      await using client = startLanguageClient(language);

      const seen = await client.connect(toAddress());
      const nothing = { sessionId: null, workspace: null, timeout: null };
      const first = resultOf(await ask(client, { prompt: "Keep the word token-parakeet.", ...nothing }));
      const second = resultOf(await ask(client, { prompt: "[[recall]]", sessionId: toSessionId(first) }));
      const wrong = resultOf(await ask(client, { prompt: "Hello", session_id: "1" }));
      const unknown = await client.call({ name: "kiro-subagents.nobody", arguments: {} });

      expect(seen).toMatchObject({ server: { name: "budgie" }, revision: "2025-11-25", tools });
      expect(first.isError).toBe(language === "Go" ? undefined : false);
      expect(first.structuredContent).toMatchObject({ agent: "code-reviewer" });
      expect(toText(second)).toBe("token-parakeet");
      expect(wrong).toMatchObject({ isError: true, structuredContent: { code: "INPUT_INVALID" } });
      expect(unknown.error).toMatchObject({ code: -32602, message: 'There is no tool "kiro-subagents.nobody".' });
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

    const facts: { readonly missed?: readonly object[]; readonly moreMissed?: number }[] = [];
    for (let call = 0; call < 4; call++) {
      const { structuredContent } = resultOf(await ask(client, { prompt: "[[say: And on.]]", sessionId }));
      facts.push(structuredContent as (typeof facts)[number]);
    }

    expect(facts.map(({ missed = [], moreMissed }) => [missed.length, moreMissed])).toEqual([
      [2, 4],
      [2, 2],
      [2, undefined],
      [0, undefined],
    ]);
    expect(new Set(facts.flatMap(({ missed = [] }) => missed.map((one) => JSON.stringify(one)))).size).toBe(6);
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
    expect(again.tools).toEqual(tools);
  });
});

describe.each(CANCELLING)("the SDK of %s", (language) => {
  it.each(WAYS)("cancels over %s a call that it gives up", async (_where, toAddress) => {
    await using client = startLanguageClient(language);
    await client.connect(toAddress());

    const before = user.kiroCalls().length;
    const late = await ask(client, { prompt: "[[sleep 300000]]" }, 3_000);
    const agent = user.kiroCalls()[before];
    const after = resultOf(await ask(client, { prompt: "Hello again" }));

    expect(late.error?.message).toMatch(/timed out|deadline exceeded|request timeout/);
    expect(late.progress.length).toBeGreaterThan(1);
    await waitFor(() => agent !== undefined && !isAlive(agent.pid));
    expect(toText(after)).toBe("You asked: Hello again");
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
});

describe("the SDK of Java", () => {
  it.each(WAYS)("gives up over %s in spite of progress, and the answer is in the run log alone", async (_, to) => {
    await using client = startLanguageClient("Java");
    await client.connect(to(), { timeoutMs: 5_000 });
    const sessionId = toSessionId(resultOf(await ask(client, { prompt: "Hello" })));

    const before = user.kiroCalls().length;
    const late = await ask(client, { prompt: "[[sleep 8000]][[say: It was late.]]", sessionId });
    const agent = user.kiroCalls()[before];
    await waitFor(() => agent !== undefined && !isAlive(agent.pid));
    const next = resultOf(await ask(client, { prompt: "[[say: And on.]]", sessionId }));
    const { stdout } = await user.command(["runs", "ls", "--session", sessionId, "--json"]);

    expect(late.error?.message).toContain("within 5000ms");
    expect(late.progress.length).toBeGreaterThan(1);
    expect(toText(next)).toBe("And on.");
    expect(JSON.parse(stdout)).toMatchObject([{}, { outcome: "answered", answerBytes: 12, delivered: true }, {}]);
  });

  it("does not return to a call whose connection was cut, and the session's next call brings the answer", async () => {
    await using client = startLanguageClient("Java");
    const wire = await createWire(budgie.url);
    await client.connect(overHttp(wire.url), { timeoutMs: 8_000 });
    const sessionId = toSessionId(resultOf(await ask(client, { prompt: "Hello" })));

    const before = user.kiroCalls().length;
    const asking = ask(client, { prompt: "[[sleep 2000]][[say: It survived.]]", sessionId });
    const agent = await waitFor(() => user.kiroCalls()[before]);
    wire.cut();
    const cut = await asking;
    await waitFor(() => !isAlive(agent.pid));
    const next = resultOf(await ask(client, { prompt: "[[say: And on.]]", sessionId }));

    expect(cut.error?.message).toContain("within 8000ms");
    expect(toText(next)).toContain("It survived.");
  });
});

it.each(WAYS)(
  "the SDK of Python is told over %s which revisions budgie speaks, if it speaks only a newer one",
  async (_, to) => {
    await using client = startLanguageClient("Python");

    const { error } = await client.connect(to(), { revision: "2026-07-28" });

    expect(error).toMatchObject({ code: -32022, message: expect.stringContaining("It speaks 2025-11-25, ") });
  },
);

function ask(client: LanguageClient, input: object, timeoutMs?: number): Promise<Outcome> {
  const call = { name: NAME, arguments: { directory: user.workspace, ...input } };
  return client.call(timeoutMs === undefined ? call : { ...call, timeoutMs });
}

/** Records that the client discarded these answers. */
async function forget(runIds: readonly string[]): Promise<void> {
  const stateDir = join(user.host.home, ".local/state/budgie");
  const owner = createOwner({ stateDir, isolation: "none" });
  const log = createRunLog({ stateDir, owner, report: () => undefined });
  await log.dropped(runIds);
  log.close();
}
