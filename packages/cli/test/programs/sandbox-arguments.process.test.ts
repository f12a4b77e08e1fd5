import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createBudgieUser } from "../helpers/start-budgie.ts";

it("a program without a sandbox gets its own arguments only", async () => {
  await using user = await createBudgieUser();
  const config = join(user.host.home, "budgie.json");
  const given = join(user.host.home, "given");
  const args = ["-c", `echo "$@" >${given}`, "coder", "one"];
  const coder = { protocol: "acp", description: "Codes.", command: "sh", args, sandboxArgs: ["two"] };
  writeFileSync(config, JSON.stringify({ agents: { coder } }));
  const { ask } = await user.serve({ args: ["--config", config, "--retry", "never"] });

  const result = await ask("coder", { prompt: "Hello" });

  expect(result).toMatchObject({ isError: true, structuredContent: { code: "AGENT_CRASHED" } });
  expect(readFileSync(given, "utf8")).toBe("one\n");
});
