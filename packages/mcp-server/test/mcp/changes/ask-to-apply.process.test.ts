import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { CallToolResult, ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import type { FoundEntry } from "@budgie/core/copies";
import { createChangeSets } from "@budgie/copies/sets";
import { expect, it } from "vitest";
import { createBudgieUser, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

it("apply: ask has the user of a client over stdio confirm a set, and applies it then", async () => {
  await using user = await createBudgieUser();
  const answers: ElicitResult[] = [{ action: "decline" }];
  const answerForm = (): ElicitResult => answers.pop() ?? { action: "cancel" };
  const { ask, client, stderr } = await user.start({ answerForm, env: { BUDGIE_APPLY: "ask" } });
  const sessionId = String((await ask("shell-worker", { prompt: "Hello" })).structuredContent?.["sessionId"]);
  const { changeId, directory } = await collect(user, sessionId);
  const call = async (name: string, input: Readonly<Record<string, unknown>>) =>
    (await client.callTool({ name: `kiro-subagents.${name}`, arguments: input })) as CallToolResult;
  const page = await call("changes", { changeId });
  const given = { changeId, reviewToken: page.structuredContent?.["reviewToken"] };

  const declined = await call("apply_changes", given);
  answers.push({ action: "accept", content: { answer: changeId.slice(0, 8) } });
  const applied = await call("apply_changes", given);

  expect(JSON.stringify(declined.content)).toContain("The user did not confirm it");
  expect(applied.structuredContent, stderr()).toMatchObject({ state: "applied", applied: 1 });
  expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("of the agent\n");
});

/** Collects a change set of a session, as if it had a copy. */
async function collect({ host }: BudgieUser, sessionId: string) {
  const directory = join(realpathSync(host.home), "shop");
  mkdirSync(directory);
  writeFileSync(join(directory, "b.txt"), "");
  const content = Buffer.from("of the agent\n");
  async function* copy(): AsyncIterable<FoundEntry> {
    yield {
      entry: { path: "a.txt", kind: "file", mode: 0o644, size: content.length },
      content: Readable.from([content]),
    };
  }
  const sets = createChangeSets({ stateDir: join(host.home, ".local/state/budgie") });
  const stored = await sets.collect({ base: { entries: [] }, read: copy, sessionId, agent: "worker", directory });
  sets.close();
  return { directory, changeId: stored?.id ?? "" };
}
