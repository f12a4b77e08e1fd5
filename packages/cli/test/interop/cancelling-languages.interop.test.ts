import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { toText, waitFor } from "../helpers/start-budgie.ts";
import { createWire } from "../../../mcp-server/test/mcp/http/http-place.ts";
import { resultOf } from "./clients.ts";
import { CANCELLING, startLanguageClient } from "./language-client.ts";
import { createLanguagePlace, toAddress, WAYS, type LanguagePlace } from "./language-place.ts";

let place: LanguagePlace;
beforeAll(async () => void (place = await createLanguagePlace()));
afterAll(() => place[Symbol.asyncDispose]());

describe.each(CANCELLING)("the SDK of %s", (language) => {
  it.each(WAYS)("cancels over %s a call that it gives up", async (way) => {
    await using client = startLanguageClient(language);
    await client.connect(place.addresses[way]);

    const before = place.user.kiroCalls().length;
    const late = await place.ask(client, { prompt: "[[sleep 300000]]" }, 3_000);
    const agent = place.user.kiroCalls()[before];
    const after = resultOf(await place.ask(client, { prompt: "Hello again" }));

    expect(late.error?.message).toMatch(/timed out|deadline exceeded|request timeout/);
    expect(late.progress.length).toBeGreaterThan(1);
    await waitFor(() => agent !== undefined && !isAlive(agent.pid));
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
