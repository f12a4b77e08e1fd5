import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { budgiePath, createBudgieUser } from "../helpers/start-budgie.ts";

it("A warning of Node's about its own features is not on stderr, unless it is asked for; others are", async () => {
  await using user = await createBudgieUser();
  const file = join(user.host.home, "warn.cjs");
  writeFileSync(file, 'process.emitWarning("of Node", "ExperimentalWarning"); process.emitWarning("of a library");');
  const start = (options: string): string => {
    const env = { HOME: user.host.home, NODE_OPTIONS: `--require ${file} ${options}` };
    return spawnSync(process.execPath, [budgiePath, "version"], { env, encoding: "utf8" }).stderr;
  };

  expect(start("")).toContain("of a library");
  expect(start("")).not.toContain("of Node");
  expect(start("--trace-warnings")).toContain("of Node");
});
