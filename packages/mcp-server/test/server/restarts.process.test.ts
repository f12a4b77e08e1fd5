import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeRestarts } from "./describe-restarts.ts";
import { createBudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

describeRestarts({
  sandbox: false,
  leftovers: async ({ sessionsDir }) => readdirSync(sessionsDir),
  cleanUp: async () => undefined,
});

it.each([
  ["a state directory that cannot be created", "file/state", "ENOTDIR"],
  ["a register that is no database", "broken", "file is not a database"],
])("--keep-sessions is refused at the start with %s, which only causes a warning without it", async (_, place, why) => {
  await using user = await createBudgieUser();
  writeFileSync(join(user.host.home, "file"), "");
  mkdirSync(join(user.host.home, "broken"));
  writeFileSync(join(user.host.home, "broken", "runs.sqlite3"), "This is no database. ".repeat(500));
  const args = ["--state-dir", join(user.host.home, place)];

  const { exitCode, stderr } = await user.run(["--keep-sessions", ...args]);

  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringMatching(/^budgie: Sessions cannot be kept: /m),
  });
  expect(stderr).toContain(why);
  expect((await user.run(args)).exitCode).toBe(0);
});
