import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listChoices, OPTION_KEYS, optionFacts } from "../../src/options/config-schema.ts";
import { createBudgieUser } from "../helpers/start-budgie.ts";

describe("the table of options", () => {
  it("has a help text and a group for each option", () => {
    const bare = OPTION_KEYS.filter((key) => optionFacts(key).help === "" || optionFacts(key).group === "");

    expect(bare).toEqual([]);
  });

  it("has the values of an option that takes a fixed set of them", () => {
    expect(listChoices("egress")).toContain("allowlist");
    expect(listChoices("acceptWeaker")).toEqual(["limits", "seccomp", "ulimits", "policy", "jail", "own-node"]);
    expect(listChoices("agentsDir")).toEqual([]);
  });

  it("leaves at most 45 options, and 150 lines of 100 columns, to the help of the server", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.command(["serve", "--help"]);

    const lines = stdout.trimEnd().split("\n");
    expect(lines.filter((line) => /^ {2}-/.test(line)).length).toBeLessThanOrEqual(45);
    // 80 columns, which is narrower and so longer.
    expect(lines.length).toBeLessThanOrEqual(150);
  });
});

describe("an option that moved to the configuration file", () => {
  it.each([
    { args: ["--max-prompt-bytes", "5"], env: {}, name: "--max-prompt-bytes", key: "maxPromptBytes" },
    { args: ["--no-keep-answers"], env: {}, name: "--no-keep-answers", key: "keepAnswers" },
    { args: [], env: { BUDGIE_HEARTBEAT: "5s" }, name: "BUDGIE_HEARTBEAT", key: "heartbeat" },
  ])("still works as $name, and says once where it is now", async ({ args, env, key, name }) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(["config", "show", "--json", ...args], env);

    const from = name.replace("--no-", "--");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      settings: expect.arrayContaining([expect.objectContaining({ key, from })]),
    });
    expect(stderr).toBe(
      `budgie: ${name} still works, and has moved to the configuration file (--config): its key "${key}".\n`,
    );
  });

  it("is said nothing of as a key of the file, or if nobody gives it", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "budgie.json");
    writeFileSync(file, JSON.stringify({ heartbeat: "5s" }));

    expect((await user.command(["config", "show", "--config", file])).stderr).toBe("");
    expect((await user.command(["config", "show"])).stderr).toBe("");
  });
});
