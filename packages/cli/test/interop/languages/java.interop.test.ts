import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { toText, waitFor } from "../../helpers/start-budgie.ts";
import { createWire } from "../../../../mcp-server/test/mcp/http/http-place.ts";
import { resultOf, toSessionId } from "../clients.ts";
import { startLanguageClient } from "./language-client.ts";
import { createLanguagePlace, toAddress, WAYS, type LanguagePlace } from "./language-place.ts";

let place: LanguagePlace;
beforeAll(async () => void (place = await createLanguagePlace()));
afterAll(() => place[Symbol.asyncDispose]());

describe("the SDK of Java", () => {
  it.each(WAYS)("gives up over %s in spite of progress, and the answer is in the run log alone", async (way) => {
    await using client = startLanguageClient("Java");
    await client.connect(place.addresses[way], { timeoutMs: 5_000 });
    const sessionId = toSessionId(resultOf(await place.ask(client, { prompt: "Hello" })));

    const before = place.user.kiroCalls().length;
    const late = await place.ask(client, { prompt: "[[sleep 8000]][[say: It was late.]]", sessionId });
    const agent = await waitFor(() => place.user.kiroCalls()[before]);
    await waitFor(() => !isAlive(agent.pid));
    const next = resultOf(await place.ask(client, { prompt: "[[say: And on.]]", sessionId }));
    const { stdout } = await place.user.command(["runs", "ls", "--session", sessionId, "--json"]);

    expect(late.error?.message).toContain("within 5000ms");
    expect(late.progress.length).toBeGreaterThan(1);
    expect(toText(next)).toBe("And on.");
    expect(JSON.parse(stdout)).toMatchObject([{}, { outcome: "answered", answerBytes: 12, delivered: true }, {}]);
  });

  it("does not return to a call whose connection was cut, and the session's next call brings the answer", async () => {
    await using client = startLanguageClient("Java");
    const wire = await createWire(place.budgie.url);
    await client.connect(toAddress(wire.url), { timeoutMs: 8_000 });
    const sessionId = toSessionId(resultOf(await place.ask(client, { prompt: "Hello" })));

    const before = place.user.kiroCalls().length;
    const asking = place.ask(client, { prompt: "[[sleep 2000]][[say: It survived.]]", sessionId });
    const agent = await waitFor(() => place.user.kiroCalls()[before]);
    wire.cut();
    const cut = await asking;
    await waitFor(() => !isAlive(agent.pid));
    const next = resultOf(await place.ask(client, { prompt: "[[say: And on.]]", sessionId }));

    expect(cut.error?.message).toContain("within 8000ms");
    expect(toText(next)).toContain("It survived.");
  });
});
