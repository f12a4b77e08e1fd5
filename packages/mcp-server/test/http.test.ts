import { describe, expect, it } from "vitest";
import { createBudgieUser, toText } from "./helpers/start-budgie.ts";
import { startHttpBudgie, TOKEN } from "./helpers/start-http-budgie.ts";

describe("budgie --transport http", () => {
  it("serves clients side by side, each in a session of its own, and says nothing on stdout", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const [one, two] = await Promise.all([budgie.connect(), budgie.connect()]);

    const { tools } = await one.client.listTools();
    const answers = await Promise.all([
      one.ask("code-reviewer", { prompt: "Hello from one" }),
      two.ask("code-reviewer", { prompt: "Hello from two" }),
    ]);

    expect(tools.map(({ name }) => name)).toContain("kiro-subagents.code-reviewer");
    expect(answers.map(toText)).toEqual(["You asked: Hello from one", "You asked: Hello from two"]);
    expect(one.transport.sessionId).not.toBe(two.transport.sessionId);
    expect(await budgie.end()).toBe(0);
    expect(budgie.stdout()).toBe("");
    expect(budgie.stderr()).not.toContain(TOKEN);
  });
});
