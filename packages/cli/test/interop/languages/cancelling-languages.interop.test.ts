import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { toText, waitFor } from "../../helpers/start-budgie.ts";
import { createWire } from "../../../../mcp-server/test/mcp/http/http-place.ts";
import { resultOf } from "../clients.ts";
import { CANCELLING, startLanguageClient, type LanguageClient } from "./language-client.ts";
import { createLanguagePlace, toAddress, WAYS, type LanguagePlace } from "./language-place.ts";

let place: LanguagePlace;
beforeAll(async () => void (place = await createLanguagePlace()));
afterAll(() => place[Symbol.asyncDispose]());

describe.each(CANCELLING)("the SDK of %s", (language) => {
  it.each(WAYS)("cancels over %s a call that it gives up", async (way) => {
    await using client = startLanguageClient(language);
    await client.connect(place.addresses[way]);

    const { agent, late } = await giveUp(client);
    const after = resultOf(await place.ask(client, { prompt: "Hello again" }));

    expect(late.error?.message).toMatch(/timed out|deadline exceeded|request timeout/);
    expect(late.progress.length).toBeGreaterThan(1);
    await waitFor(() => !isAlive(agent.pid));
    expect(toText(after)).toBe("You asked: Hello again");
  });

  it("resumes a call whose connection was cut", async () => {
    await using client = startLanguageClient(language);
    const wire = await createWire(place.budgie.url);
    await client.connect(toAddress(wire.url));

    const before = place.user.kiroCalls().length;
    const asking = place.ask(client, { prompt: "[[sleep 2000]][[say: It survived.]]" });
    await waitFor(() => place.user.kiroCalls()[before]);
    wire.cut();

    expect(toText(resultOf(await asking))).toBe("It survived.");
  });
});

/** Has a client give up a call after seconds, and after more if its agent had not started by then. */
async function giveUp(client: LanguageClient) {
  for (let limitMs = 3_000; ; limitMs *= 2) {
    const before = place.user.kiroCalls().length;
    const late = await place.ask(client, { prompt: "[[sleep 300000]]" }, limitMs);
    const agent = place.user.kiroCalls()[before];
    if (agent !== undefined) return { agent, late };
  }
}
