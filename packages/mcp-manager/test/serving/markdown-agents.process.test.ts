import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createBudgieUser, toText } from "../../../cli/test/helpers/start-budgie.ts";
import { describeMarkdownAgents } from "./describe-markdown-agents.ts";

const LATE = { args: ["--env", "FAKE_KIRO_PROFILE"], env: { FAKE_KIRO_PROFILE: "v2late" } };

describeMarkdownAgents("a Markdown agent without a sandbox", { sandbox: false, ...LATE });

it("a Kiro that looks for agents only in its own folders runs no other agent in place of a Markdown one", async () => {
  await using user = await createBudgieUser();
  writeFileSync(join(user.host.agentsDir, "poet.md"), '---\ndescription: "sub-agent: Writes"\n---\nYou write.');
  const { ask } = await user.serve();

  const answer = await ask("poet", { prompt: "[[say: Nobody.]]" });

  expect(answer.isError).toBe(true);
  expect(toText(answer)).toMatch(/^AGENT_NOT_FOUND: /);
});

it("no copy of an agent's file stays", async () => {
  await using user = await createBudgieUser();
  writeFileSync(join(user.host.agentsDir, "poet.md"), '---\ndescription: "sub-agent: Writes"\n---\nYou write.');
  const budgie = await user.serve(LATE);
  await budgie.ask("poet", { prompt: "[[say: Here.]]" });
  const scratch = join(user.host.home, ".local/state/budgie/scratch");
  expect(readdirSync(scratch)).toHaveLength(1);

  await budgie.client.close();
  await budgie.ended;

  expect(existsSync(scratch) ? readdirSync(scratch) : []).toEqual([]);
});
