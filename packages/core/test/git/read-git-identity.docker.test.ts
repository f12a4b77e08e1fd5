import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createBudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

it("An agent in a sandbox commits in the name of the user's global configuration", async () => {
  await using user = await createBudgieUser();
  writeFileSync(join(user.host.home, ".gitconfig"), "[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n");
  const git = (...argv: string[]) => execFileSync("git", ["-C", user.workspace, ...argv], { encoding: "utf8" }).trim();
  git("init", "--quiet");
  const { ask } = await user.serve({ sandbox: true });

  const { structuredContent } = await ask("shell-worker", {
    prompt: "[[run: git commit --allow-empty -m Done 2>&1]]",
  });

  expect(structuredContent).toMatchObject({ response: expect.stringContaining("Done") });
  expect(git("log", "--format=%an <%ae>, %cn <%ce>: %s")).toBe(
    "Ada Lovelace <ada@example.com>, Ada Lovelace <ada@example.com>: Done",
  );
});
