import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kiroCliPath } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import {
  budgiePath,
  createBudgieUser,
  toText,
  waitFor,
  type BudgieUser,
} from "../../../cli/test/helpers/start-budgie.ts";

const callBudgie = fileURLToPath(new URL("../../../cli/test/fixtures/call-budgie.mjs", import.meta.url));

describe("a budget", () => {
  it("holds for two budgies on one state, the first of which is killed during its turn", async () => {
    await using user = await createBudgieUser();
    const args = ["--config", writeConfig(user, { budget: { day: { turns: 3 } } })];
    const [killed, other] = await Promise.all([user.start({ args }), user.start({ args })]);
    const lost = killed.ask("shell-worker", { prompt: "[[run: sleep 600]]" }).catch(() => undefined);
    await waitFor(() => user.kiroCalls().length === 1);

    killed.child.kill("SIGKILL");
    await Promise.all([lost, killed.ended]);
    const results = await Promise.all(Array.from({ length: 6 }, () => other.ask("code-reviewer", { prompt: "Hello" })));

    const codes = results.map(({ structuredContent }) => structuredContent?.["code"] ?? "answered");
    expect(codes.filter((code) => code === "answered")).toHaveLength(2);
    expect(codes.filter((code) => code === "BUDGET_SPENT")).toHaveLength(4);
    expect(user.kiroCalls()).toHaveLength(3);
  });

  it("of a call holds for what its agent calls, whatever the nested budgie's configuration allows", async () => {
    await using user = await createBudgieUser();
    const outer = writeConfig(user, { budget: { turn: { turns: 2 } } });
    const inner = writeConfig(user, { budget: { turn: { turns: 99 } } }, "inner.json");
    const { ask } = await user.start({ args: ["--max-depth", "2", "--config", outer] });
    const call = toCall(user, inner);

    const answer = await ask("shell-worker", { prompt: `[[run: ${call}; ${call}]]` });

    expect(toText(answer)).toMatch(
      /answered: [^]*refused: BUDGET_SPENT: .* of all agents for a call is spent, 2 of 2 turns/,
    );
    expect(user.kiroCalls()).toHaveLength(2);
  });
});

function writeConfig({ host }: BudgieUser, content: object, name = "outer.json"): string {
  const file = join(host.home, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

/** Returns the command with which an agent's shell calls a nested budgie. */
function toCall({ host, workspace }: BudgieUser, config: string): string {
  const prompt = join(host.home, "prompt");
  writeFileSync(prompt, "Hello");
  const nested = `${process.execPath} ${budgiePath} --kiro-binary ${kiroCliPath} --config ${config} --max-depth 9`;
  return `${process.execPath} ${callBudgie} shell-worker ${workspace} ${prompt} ${nested} --env FAKE_KIRO_LOG`;
}
