import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner } from "@budgie/core";
import { createFakeRunner } from "@budgie/testkit";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";
import { createTurns } from "../../../mcp-server/src/server/create-turns.ts";

describe("a budget of the configuration", () => {
  it("lets ten of fifty calls at once begin, in two budgies with one state", async () => {
    const { call, isBegun, start } = createPlace({ budget: { day: { turns: 10 } } });
    const [one, other] = [await start(), await start()];

    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, at) => call(at % 2 === 0 ? one : other)));

    expect(outcomes.filter((outcome) => outcome === "answered")).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === "BUDGET_SPENT")).toHaveLength(40);
    expect(isBegun()).toBe(10);
  });

  it.each([
    ["all agents together", { budget: { day: { turns: 1 } } }, ["BUDGET_SPENT", "BUDGET_SPENT"]],
    ["one agent", { agents: { coder: { budget: { day: { turns: 1 } } } } }, ["BUDGET_SPENT", "answered"]],
  ])("counts the turns of %s", async (_whose, config, expected) => {
    const { call, start } = createPlace(config);
    const budgie = await start();
    await call(budgie, { agent: "coder" });

    expect([await call(budgie, { agent: "coder" }), await call(budgie, { agent: "reader" })]).toEqual(expected);
  });

  it("counts the turns in a directory and below it", async () => {
    const { call, other, project, start } = createPlace((home) => ({
      workspaces: { [join(home, "app")]: { budget: { day: { turns: 1 } } } },
    }));
    const below = join(project, "below");
    mkdirSync(below);
    const budgie = await start();

    expect(await call(budgie, { directory: below })).toBe("answered");
    expect(await call(budgie)).toBe("BUDGET_SPENT");
    expect(await call(budgie, { directory: other })).toBe("answered");
  });

  it("counts the turns of each session", async () => {
    const { call, project, start } = createPlace({ budget: { session: { turns: 2 } } });
    const first = await start();
    const { sessionId } = await first.runTurn(() => undefined)({ agent: "coder", prompt: "x", directory: project });

    expect(await call(first, { sessionId })).toBe("answered");
    expect(await call(first, { sessionId })).toBe("BUDGET_SPENT");
    expect(await call(first)).toBe("answered");
  });

  it.each([
    [{ budget: { week: {} } }, /unknown in "budget": "week"/],
    [{ budget: { day: { turns: -1 } } }, /"budget.day.turns" .* a whole number of at least 0/],
    [{ budget: { day: { cost: "5" } } }, /"budget.day.cost" .* an amount with its currency such as "5 USD"/],
    [{ agents: { coder: { budget: { day: { credits: "5" } } } } }, /"agents.coder.budget.day.credits"/],
    [{ workspaces: { "/": { budget: 5 } } }, /"workspaces.\/.budget"/],
  ])("is refused as %j", async (config, expected) => {
    await expect(createPlace(config).start()).rejects.toThrow(expected);
  });

  it("opens no database before a call", async () => {
    const { start, stateDir } = createPlace({ budget: { day: { turns: 10 } } });

    await start();

    expect(existsSync(join(stateDir, "runs.sqlite3"))).toBe(false);
  });
});

type Turns = Awaited<ReturnType<typeof createTurns>>;

/** Creates a user with two agents of Kiro's, two directories and a configuration. */
function createPlace(given: object | ((home: string) => object)) {
  const home = mkdtempSync(join(tmpdir(), "budgie-budgets-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [project, other, stateDir] = [join(home, "app"), join(home, "other"), join(home, "state")];
  for (const folder of [project, other, join(home, ".kiro/agents")]) mkdirSync(folder, { recursive: true });
  for (const name of ["coder", "reader"]) {
    const agent = { name, description: "sub-agent: Works.", prompt: "Work." };
    writeFileSync(join(home, `.kiro/agents/${name}.json`), JSON.stringify(agent));
  }
  const config = join(home, "budgie.json");
  writeFileSync(config, JSON.stringify(typeof given === "function" ? given(home) : given));
  const host = toSilentHost({ home, cwd: home });
  const runner = createFakeRunner(() => ({ stdout: "> Done." }));
  return {
    project,
    other,
    stateDir,
    isBegun: () => runner.runs.filter(({ options }) => options.directory === project).length,
    start: async (): Promise<Turns> => {
      const owner = createOwner({ stateDir });
      const turns = await createTurns({
        config: parseConfig({ stateDir, config }, host),
        host,
        owner,
        runner,
      });
      onTestFinished(turns.close);
      return turns;
    },
    /** Resolves to "answered", or the code of the error */
    call: (
      turns: Turns,
      of: { readonly agent?: string; readonly directory?: string; readonly sessionId?: string } = {},
    ) =>
      turns
        .runTurn(() => undefined)({ agent: "coder", prompt: "x", directory: project, ...of })
        .then(
          () => "answered",
          ({ code }: { readonly code: string }) => code,
        ),
  };
}
