import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startKagentServer } from "@budgie/testkit";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

describe("budgie run beside a kagent backend", () => {
  it("asks it for its agents only if no agent here has the name", async () => {
    await using user = await createBudgieUser();
    await using server = await startKagentServer({ agents: [{ name: "k8s" }] });
    const file = join(user.host.home, "budgie.json");
    writeFileSync(file, JSON.stringify({ kagent: { url: server.url } }));
    // The prompt on stdin is empty, which is refused once the agent is found.
    const run = (agent: string) =>
      user.command(["run", agent, "-", "--no-sandbox", "--config", file, "-C", user.workspace]);

    const here = await run("reader");
    const asked = server.asked();
    const there = await run("kagent.k8s");

    expect(here.stderr).toContain('The prompt for "reader" is empty');
    expect(asked).toBe(0);
    expect(there.stderr).toContain('The prompt for "kagent.k8s" is empty');
    expect(server.asked()).toBe(1);
  });
});

describe("budgie run --budget", () => {
  it.each([
    [
      "0 credits",
      1,
      /^budgie: BUDGET_SPENT: The agent "reader" was not started: the budget of this call is spent, 0 of 0 cr/,
    ],
    ["2 dollars", 2, /Expected --budget to be amounts of turns, minutes, tokens, credits or a currency/],
  ])("%s starts no agent", async (budget, code, expected) => {
    await using user = await createBudgieUser();

    const argv = ["run", "reader", "Hello", "--no-sandbox", "--budget", budget, "-C", user.workspace];
    const { exitCode, stderr } = await user.command(argv);

    expect(exitCode).toBe(code);
    expect(stderr).toMatch(expected);
    expect(user.kiroCalls()).toEqual([]);
  });
});
