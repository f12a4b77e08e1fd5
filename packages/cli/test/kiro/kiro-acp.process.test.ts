import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createBudgieUser, toText } from "../helpers/start-budgie.ts";
import { describeKiroAcp } from "./describe-kiro-acp.ts";

describeKiroAcp({
  sandbox: false,
  leftovers: async ({ sessionsDir }) => readdirSync(sessionsDir),
  cleanUp: async () => undefined,
});

it("Kiro over ACP is started for its agent, and its messages are logged with --verbose", async () => {
  await using user = await createBudgieUser();
  const { ask } = await user.serve({ args: ["--protocol", "acp", "--verbose", "--model", "claude-opus-4"] });

  const answer = await ask("reader", { prompt: "[[say: Logged.]]" });

  const { sessionId } = answer.structuredContent as { sessionId: string };
  expect(toText(answer)).toBe("Logged.");
  expect(user.kiroCalls().map(({ argv }) => argv)).toEqual([["acp", "--agent", "reader", "--model", "claude-opus-4"]]);
  const log = readFileSync(join(user.sessionsDir, sessionId, `chat-${sessionId}.txt`), "utf8");
  expect(log).toMatch(/ acp --agent reader[^]*--- messages\nLogged\.\n--- stderr\n/);
});
