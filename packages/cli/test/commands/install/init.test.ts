import { existsSync, rmSync } from "node:fs";
import { expect, it } from "vitest";
import { createFakeEngine, WHOLE_ENGINE } from "../../../../runner-docker/test/helpers/fake-engine.ts";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

const WITHOUT_IMAGE = { "GET /version": { ApiVersion: "1.41" }, "GET /info": WHOLE_ENGINE };

it("budgie init says in the words of the command line what is missing, and writes nothing before", async () => {
  await using user = await createBudgieUser();
  rmSync(user.host.agentsDir, { recursive: true });
  await using engine = await createFakeEngine(WITHOUT_IMAGE);

  const { exitCode, stdout } = await user.command(["init", "-C", user.workspace], {
    ...engine.hostEnv,
    PATH: "/nowhere",
  });

  expect(exitCode).toBe(3);
  expect(stdout).toMatch(/^failed {2}image .* name another with --sandbox-image\.$/m);
  expect(stdout).toContain("To do:\n  budgie build-image\n");
  expect(existsSync(user.host.agentsDir)).toBe(false);
});

it("budgie init refuses the home directory before it builds an image, and says what else is missing", async () => {
  await using user = await createBudgieUser({ login: false });
  await using engine = await createFakeEngine(WITHOUT_IMAGE);

  const atHome = await user.command(["init", "--yes", "-C", user.host.home], engine.hostEnv);
  const above = await user.command(["init", "--yes", "-C", "/"], engine.hostEnv);

  expect(atHome).toMatchObject({ exitCode: 3, stderr: "" });
  expect(atHome.stdout).toMatch(
    /^failed {2}directory .* is your home directory, .*\nfailed {2}image .*\nfailed {2}login .*\n\nTo do:\n {2}cd PROJECT .*\n {2}budgie build-image\n/m,
  );
  expect(above.stdout).toContain('"/" holds your home directory');
  expect(engine.requests.filter((request) => request.startsWith("POST "))).toEqual([]);
});

it("budgie init says how to go on after a build that failed", async () => {
  await using user = await createBudgieUser();
  const refusal = { status: 500, body: { message: "Get https://registry.test/v2/: no such host" } };
  await using engine = await createFakeEngine({ ...WITHOUT_IMAGE, "POST /build": [refusal] });

  const { exitCode, stderr, stdout } = await user.command(["init", "--yes", "-C", user.workspace], engine.hostEnv);

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/ no such host\. The engine could not fetch the base image: .* BASE_IMAGE=IMAGE\.\n$/);
  expect(stdout).toBe('\nTo do:\n  budgie build-image    # once that is mended\n\nThen run "budgie init" again.\n');
});
