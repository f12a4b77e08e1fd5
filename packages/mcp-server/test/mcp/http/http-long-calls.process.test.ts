import { describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { callLong, SOON } from "../long-calls/call-long.ts";
import { createBudgieUser, toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { startHttpBudgie } from "./start-http-budgie.ts";

describe("a run past its soft deadline over HTTP", () => {
  it("belongs to its own client, and is unknown to another", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: SOON });
    const [one, two] = [callLong(user, await budgie.connect()), callLong(user, await budgie.connect())];
    const { runId } = await one.begin("[[say: It took long.]]");

    const strange = [
      await two.use("wait", { runId }),
      await two.use("cancel", { runId }),
      await two.use("status", { runId }),
    ];
    const all = await two.use("status", {});
    one.openGate();

    for (const { structuredContent } of strange) expect(structuredContent).toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(all.structuredContent).toEqual({ runs: [] });
    expect(toText(await one.collect(runId))).toBe("It took long.");
  });

  it("ends with its client's session, and no other run does", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: SOON });
    const client = await budgie.connect();
    const [one, two] = [callLong(user, client), callLong(user, await budgie.connect())];
    await one.begin("");
    const mine = await one.agent();
    const { runId } = await two.begin("[[say: It took long.]]");

    await client.transport.terminateSession();
    await waitFor(() => !isAlive(mine.pid));
    two.openGate();

    expect(toText(await two.collect(runId))).toBe("It took long.");
  });
});
