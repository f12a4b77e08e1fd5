import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import { createRunLog } from "@budgie/store";
import { toText, waitFor } from "../../helpers/start-budgie.ts";
import { startHttpBudgie } from "../../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import { resultOf, toSessionId } from "../clients.ts";
import { LANGUAGES, startLanguageClient } from "./language-client.ts";
import { createLanguagePlace, toAddress, WAYS, type LanguagePlace } from "./language-place.ts";

const TOOLS = ["code-reviewer", "health-check", "reader", "shell-worker"].map((tool) => `kiro-subagents.${tool}`);
// The tools that a client with a soft deadline gets besides
const TOOLS_WITH_WAIT = [...TOOLS, "kiro-subagents.cancel", "kiro-subagents.status", "kiro-subagents.wait"].sort();
// Six of these would be more than a megabyte in one message.
const LONG = "long ".repeat(19_800).trim();

let place: LanguagePlace;
beforeAll(async () => void (place = await createLanguagePlace()));
afterAll(() => place[Symbol.asyncDispose]());

describe.each(LANGUAGES)("the SDK of %s", (language) => {
  const tools = language === "Java" ? TOOLS_WITH_WAIT : TOOLS;

  it.each(WAYS)("lists the tools over %s, calls, validates and resumes", async (way) => {
    await using client = startLanguageClient(language);

    const seen = await client.connect(place.addresses[way]);
    const nothing = { sessionId: null, workspace: null, timeout: null };
    const first = resultOf(await place.ask(client, { prompt: "Keep the word token-parakeet.", ...nothing }));
    const second = resultOf(await place.ask(client, { prompt: "[[recall]]", sessionId: toSessionId(first) }));
    const wrong = resultOf(await place.ask(client, { prompt: "Hello", session_id: "1" }));
    const unknown = await client.call({ name: "kiro-subagents.nobody", arguments: {} });

    expect(seen).toMatchObject({ server: { name: "budgie" }, revision: "2025-11-25", tools });
    expect(first.isError).toBe(language === "Go" ? undefined : false);
    expect(first.structuredContent).toMatchObject({ agent: "code-reviewer" });
    expect(toText(second)).toBe("token-parakeet");
    expect(wrong).toMatchObject({ isError: true, structuredContent: { code: "INPUT_INVALID" } });
    expect(unknown.error).toMatchObject({ code: -32602, message: 'There is no tool "kiro-subagents.nobody".' });
  });

  it("receives all missed answers, over several calls", async () => {
    await using client = startLanguageClient(language);
    await client.connect(place.addresses.HTTP);
    const answers = [resultOf(await place.ask(client, { prompt: `[[say: ${LONG}]]` }))];
    const sessionId = toSessionId(answers[0]);
    for (let more = 0; more < 5; more++) {
      answers.push(resultOf(await place.ask(client, { prompt: `[[say: ${LONG}]]`, sessionId })));
    }
    await forget(answers.map(({ structuredContent }) => String(structuredContent?.["runId"])));

    const facts: { readonly missed?: readonly object[]; readonly moreMissed?: number }[] = [];
    for (let call = 0; call < 4; call++) {
      const { structuredContent } = resultOf(await place.ask(client, { prompt: "[[say: And on.]]", sessionId }));
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
    await using ending = await startHttpBudgie(place.user);
    await client.connect(toAddress(ending.url));

    const before = place.user.kiroCalls().length;
    const asking = place.ask(client, { prompt: "[[sleep 300000]]" });
    await waitFor(() => place.user.kiroCalls()[before]);
    const exitCode = await ending.end("SIGTERM");
    const cancelled = resultOf(await asking);
    const again = await client.connect(place.addresses.HTTP);

    expect(exitCode).toBe(0);
    expect(cancelled).toMatchObject({ isError: true, structuredContent: { code: "CANCELLED" } });
    expect(again.tools).toEqual(tools);
  });
});

it.each(WAYS)(
  "the SDK of Python is told over %s which revisions budgie speaks, if it speaks only a newer one",
  async (way) => {
    await using client = startLanguageClient("Python");

    const { error } = await client.connect(place.addresses[way], { revision: "2026-07-28" });

    expect(error).toMatchObject({ code: -32022, message: expect.stringContaining("It speaks 2025-11-25, ") });
  },
);

/** Records that the client discarded these answers. */
async function forget(runIds: readonly string[]): Promise<void> {
  const stateDir = join(place.user.host.home, ".local/state/budgie");
  const owner = createOwner({ stateDir, isolation: "none" });
  const log = createRunLog({ stateDir, owner, report: () => undefined });
  await log.dropped(runIds);
  log.close();
}
