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
