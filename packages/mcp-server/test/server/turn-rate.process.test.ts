import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

describe("--max-turns-per-minute", () => {
  it.each([
    ["all agents", { args: ["--max-turns-per-minute", "1"] }, "reader"],
    ["one agent, by a variable", { env: { BUDGIE_MAX_TURNS_PER_MINUTE: "50,code-reviewer=1" } }, "code-reviewer"],
  ])("refuses the second turn of %s", async (_whose, options, agent) => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve(options);
    await ask("code-reviewer", { prompt: "x" });

    const { isError, structuredContent } = await ask(agent, { prompt: "x" });

    expect(isError).toBe(true);
    expect(structuredContent).toMatchObject({
      code: "RATE_LIMITED",
      message: expect.stringMatching(/again in \d+s|1m/),
    });
  });

  it("refuses to start with a limit for an unknown agent", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr } = await user.command(["--max-turns-per-minute", "code-reviewr=1"]);

    expect(exitCode).toBe(2);
    expect(stderr).toContain('There is no agent "code-reviewr" for --max-turns-per-minute.');
  });
});
