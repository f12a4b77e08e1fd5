import { existsSync, rmSync } from "node:fs";
import { expect, it } from "vitest";
import { createFakeEngine, WHOLE_ENGINE } from "../../../../runner-docker/test/helpers/fake-engine.ts";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

it("budgie init says in the words of the command line what is missing, and writes nothing before", async () => {
  await using user = await createBudgieUser();
  rmSync(user.host.agentsDir, { recursive: true });
  await using engine = await createFakeEngine({ "GET /version": { ApiVersion: "1.41" }, "GET /info": WHOLE_ENGINE });

  const { exitCode, stdout } = await user.command(["init", "-C", user.workspace], {
    ...engine.hostEnv,
    PATH: "/nowhere",
  });

  expect(exitCode).toBe(3);
  expect(stdout).toMatch(/^failed {2}image .* name another with --sandbox-image\.$/m);
  expect(stdout).toContain("To do:\n  budgie build-image\n");
  expect(existsSync(user.host.agentsDir)).toBe(false);
});
