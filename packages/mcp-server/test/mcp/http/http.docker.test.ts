import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listTraces } from "../../../../cli/test/helpers/engine.ts";
import { createBudgieUser, toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { startHttpBudgie } from "./start-http-budgie.ts";

describe("budgie --transport http --sandbox", () => {
  it("leaves no container and no volume of a client that ended its session or disappeared", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { sandbox: true, args: ["--http-session-ttl", "2s"] });
    const [ends, vanishes, stays] = [await budgie.connect(), await budgie.connect(), await budgie.connect()];
    const answers = await Promise.all(
      [ends, vanishes, stays].map(({ ask }) => ask("code-reviewer", { prompt: "Keep the word token-finch." })),
    );
    const [ended, vanished, stayed] = answers.map(({ structuredContent }) => String(structuredContent?.["sessionId"]));
    const tracesOf = async (id = "none"): Promise<readonly string[]> =>
      (await listTraces(user)).filter((name) => name.includes(id.slice(0, 8)));
    const before = await Promise.all([tracesOf(ended), tracesOf(vanished), tracesOf(stayed)]);
    // The session ends during a turn, while containers of next turns are made or wait.
    ends.ask("code-reviewer", { prompt: "[[write begun: x]][[sleep 60000]]", sessionId: ended }).catch(() => undefined);
    await waitFor(() => existsSync(join(user.workspace, "begun")), 30_000);

    await ends.transport.terminateSession();
    await vanishes.client.close();
    await waitFor(async () => (await tracesOf(ended)).length === 0, 30_000);
    await waitFor(async () => (await tracesOf(vanished)).length === 0, 30_000);

    const goesOn = await stays.ask("code-reviewer", { prompt: "[[recall]]", sessionId: stayed });
    expect(before.map((traces) => traces.length > 0)).toEqual([true, true, true]);
    expect(toText(goesOn)).toBe("token-finch");
    expect(await budgie.end()).toBe(0);
    expect(await listTraces(user)).toEqual([]);
  });

  it("keeps the token from a sandbox", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { sandbox: true });
    const { ask } = await budgie.connect();

    const answer = await ask("shell-worker", { prompt: "[[env]]" });

    expect(toText(answer)).toContain('"HOME":');
    expect(toText(answer)).not.toContain("BUDGIE_HTTP_TOKEN");
  });
});
