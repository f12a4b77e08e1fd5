import { text } from "node:stream/consumers";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { FinishedRun } from "@budgie/core/runs";
import { showUsage } from "../../../src/commands/runs/show-usage.ts";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";
import { makeRun, remember, toStateDir } from "./runs-place.ts";

const TOKENS = { inputTokens: 1_234, cachedTokens: 2_000_000, outputTokens: 56 };
const TURN = { basis: "turn", ...TOKENS } as const;

const RUNS: readonly Partial<FinishedRun>[] = [
  { agent: "reader", usage: { credits: 0.07 } },
  { agent: "reader", usage: { credits: 0.4 } },
  { agent: "worker", usage: { ...TURN, cost: { amount: 0.25, currency: "USD" } } },
  { agent: "worker", usage: { basis: "request", inputTokens: 5_000, outputTokens: 5_000 } },
  { agent: "worker", usage: undefined, outcome: "TIMED_OUT" },
];

describe("budgie usage", () => {
  it("prints a sum of each agent and all together, and names the turns that are in none", async () => {
    await using user = await createUser();

    const { exitCode, stderr, stdout } = await user.command(["usage"]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["AGENT", "TURNS", "CREDITS", "COST", "INPUT", "CACHED", "OUTPUT"],
      ["reader", "2", "0.47"],
      ["worker", "3", "0.25 USD", "1.23k", "2M", "56"],
      ["(total)", "5", "0.47", "0.25 USD", "1.23k", "2M", "56"],
      [""],
      ["1 turn reported no cost, which is unknown and not zero: 1 of worker."],
      ["1 turn reported tokens that cannot be added up, such as those of the last request alone: 1 of worker."],
      [""],
    ]);
  });

  it("adds up a currency of any name that a program invents", async () => {
    const cost = (amount: number) => ({ cost: { amount, currency: "constructor" } });
    await using user = await createUser([
      { agent: "a", usage: cost(1e-9) },
      { agent: "b", usage: cost(2) },
    ]);

    expect((await user.command(["usage"])).stdout).toContain("(total)  2      2 constructor\n");
  });

  it("leaves out columns that no turn reported, and the total of one row", async () => {
    await using user = await createUser([{ usage: { credits: 1 }, client: "claude-code" }]);

    expect((await user.command(["usage", "--by", "client"])).stdout).toBe(
      "CLIENT       TURNS  CREDITS\nclaude-code  1      1\n",
    );
  });

  it("prints whole figures as JSON, without what is unknown", async () => {
    await using user = await createUser();

    expect(JSON.parse((await user.command(["usage", "--json"])).stdout)).toEqual([
      { agent: "reader", turns: 2, silent: 0, apart: 0, open: 0, credits: 0.47, costs: {} },
      { agent: "worker", turns: 3, silent: 1, apart: 1, open: 0, ...TOKENS, costs: { USD: 0.25 } },
    ]);
  });

  it("counts the turns of a time, and says if there are none", async () => {
    await using user = await createUser([{ startedMs: Date.now() - 3_600_000 }]);

    expect((await user.command(["usage", "--since", "30m"])).stdout).toBe("There is no such turn in the run log.\n");
    expect((await user.command(["usage", "--since", "2h"])).stdout).toContain("reader  1      0.07");
    expect(await user.command(["usage", "--since", "soon"])).toMatchObject({ exitCode: 2 });
    expect(await user.command(["usage", "--by", "mood"])).toMatchObject({ exitCode: 2 });
  });

  it.each([60, 80, 200])("fits a terminal of %i columns, with all figures whole", async (columns) => {
    const usage = { ...TURN, credits: 1_234.5, cost: { amount: 999.99, currency: "USD" } };
    const directory = `/home/ada/code/${"shop/".repeat(60)}`;
    await using user = await createUser([
      { usage, directory },
      { usage, directory: "/x" },
      { directory, usage: undefined },
    ]);

    const lines = await printed(user, columns);

    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(lines.find((line) => line.startsWith("/x"))?.split(/ {2,}/)).toEqual([
      "/x",
      "1",
      "1.23k",
      "1k USD",
      "1.23k",
      "2M",
      "56",
    ]);
  });

  it("escapes what agents and clients named", async () => {
    await using user = await createUser([{ usage: { credits: 1, model: "m\u001B[2J\nforged  9" } }]);

    expect((await user.command(["usage", "--by", "model"])).stdout.split("\n").slice(1)).toEqual([
      expect.stringMatching(/^m\?\[2J\?forged {2}9 +1 +1$/),
      "",
    ]);
  });
});

async function createUser(runs = RUNS): Promise<BudgieUser> {
  const user = await createBudgieUser();
  await remember(user, runs.map(makeRun));
  return user;
}

/** Returns the lines on a terminal. */
async function printed(user: BudgieUser, columns: number): Promise<readonly string[]> {
  const stdout = new PassThrough();
  const host = toSilentHost({ cwd: "/", home: user.host.home, stdout, columns });
  await showUsage({ stateDir: toStateDir(user) }, { by: "project", json: false }, host);
  return (await text(stdout.end())).split("\n");
}
