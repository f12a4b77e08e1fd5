import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

describe("a bug in budgie", () => {
  it("shuts it down with exit code 70, and its stack on stderr", async () => {
    await using user = await createBudgieUser();
    const bug = "process.on('SIGUSR2', () => { throw new Error('a bug') })";
    const { ask, child, ended, stderr } = await user.start({
      env: { NODE_OPTIONS: `--import "data:text/javascript,${bug}"` },
    });
    await ask("code-reviewer", { prompt: "Hello" });

    child.kill("SIGUSR2");

    expect(await ended).toEqual({ exitCode: 70, signal: null });
    expect(stderr()).toMatch(/budgie: Error: a bug\n {4}at /);
  });
});
