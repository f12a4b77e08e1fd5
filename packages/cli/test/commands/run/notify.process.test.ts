import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kiroCliPath } from "@budgie/testkit";
import { expect, it } from "vitest";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";

const FACTS = ["bell.0", "bell.1"];

/** Writes a configuration whose bell keeps what it gets, for each turn in a file of its own. */
function writeConfig({ host }: BudgieUser): string {
  const config = join(host.home, "budgie.json");
  const script = `cat >new; [ -e bell.0 ] && mv new bell.1 || mv new bell.0; echo canary; exit 3`;
  writeFileSync(config, JSON.stringify({ notify: ["sh", "-c", script] }));
  return config;
}

async function run(user: BudgieUser, prompt: string, env: Readonly<Record<string, string>> = {}) {
  const local = ["--no-sandbox", "--kiro-binary", kiroCliPath, "--config", writeConfig(user)];
  return user.run(["run", "code-reviewer", prompt, "-C", user.workspace, ...local], env);
}

const readBells = ({ host }: BudgieUser): readonly unknown[] =>
  FACTS.map((name) => join(host.home, name))
    .filter((path) => existsSync(path))
    .map((path) => JSON.parse(readFileSync(path, "utf8")) as unknown);

it("The user's command is told of a turn by its end, and its failure is said without failing the turn", async () => {
  await using user = await createBudgieUser();

  const { exitCode, stderr, stdout } = await run(user, "[[say: canary-answer]]");

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "canary-answer\n" });
  const [facts, ...more] = readBells(user);
  const { workspace: directory } = user;
  expect(more).toEqual([]);
  expect(facts).toMatchObject({ event: "end", outcome: "answered", agent: "code-reviewer", directory });
  expect(JSON.stringify(facts)).not.toContain("canary");
  expect(stderr).toContain('The command of "notify" failed: it exited with 3.');
});

it("It is told of a client's call whose directory is refused", async () => {
  await using user = await createBudgieUser();
  const { ask } = await user.serve({ args: ["--config", writeConfig(user)] });

  const refused = await ask("code-reviewer", { prompt: "Go.", directory: join(user.workspace, "gone") });

  expect(refused).toMatchObject({ isError: true });
  await expect.poll(() => readBells(user)).toMatchObject([{ event: "refusal", outcome: "WORKSPACE_INVALID" }]);
});

it("It is told of no turn of a budgie that an agent started", async () => {
  await using user = await createBudgieUser();

  const { exitCode } = await run(user, "Go.", { BUDGIE_DEPTH: "1", BUDGIE_MAX_DEPTH: "2" });

  expect([exitCode, readBells(user)]).toEqual([0, []]);
});
