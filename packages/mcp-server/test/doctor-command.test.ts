import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser } from "./helpers/start-budgie.ts";

const NO_ENGINE = { DOCKER_HOST: "unix:///nowhere/docker.sock" };

describe("budgie doctor", () => {
  it("says what is missing and what is not", async () => {
    await using user = await createBudgieUser({ malformedAgent: true });

    const { exitCode, stderr, stdout } = await user.run(["doctor"], NO_ENGINE);

    const lines = stdout.split("\n");
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(lines[0]).toMatch(/^failed {2}engine {5}.*unix:\/\/\/nowhere\/docker\.sock/);
    expect(lines[1]).toBe("failed  image      there is no engine to ask");
    expect(lines[2]).toMatch(new RegExp(`^ok      login      in "${user.host.dataDir}", written \\S+ ago$`));
    expect(lines).toContain(`ok      agents     code-reviewer, reader, shell-worker, in "${user.host.agentsDir}"`);
    expect(stdout).toContain(
      `note    agents     Skipped the agent file "${join(user.host.agentsDir, "malformed.json")}"`,
    );
    expect(lines).toContain(`ok      directory  "${user.sessionsDir}" can be written`);
  });

  it("misses a login and agents", async () => {
    await using user = await createBudgieUser({ login: false });

    const { stdout } = await user.run(["doctor", "--agents-dir", user.workspace], NO_ENGINE);

    expect(stdout).toMatch(/^failed {2}login {6}.*run "kiro-cli login"$/m);
    expect(stdout).toMatch(/^failed {2}agents {5}none, in "/m);
  });

  it("refuses agents whose tools would have one name", async () => {
    await using user = await createBudgieUser();
    const twin = { name: "Reader", description: "sub-agent: Twin" };
    writeFileSync(join(user.host.agentsDir, "twin.json"), JSON.stringify(twin));

    const { stdout } = await user.run(["doctor"], NO_ENGINE);

    expect(stdout).toMatch(/^failed {2}agents {5}The agents "reader" .* would both be the tool/m);
  });

  it("tells a program what it found, and writes nothing", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.run(["doctor", "--json"], { ...NO_ENGINE, KIRO_API_KEY: "key" });

    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([{ state: "ok", what: "login", text: "by KIRO_API_KEY" }]),
    });
    expect(stdout).not.toContain('"key"');
  });

  it("finds a directory that cannot be written", async () => {
    await using user = await createBudgieUser();
    const file = join(user.workspace, "file");
    writeFileSync(file, "");

    const { stdout } = await user.run(["doctor", "--state-dir", join(file, "state")], NO_ENGINE);

    expect(stdout).toContain(`failed  directory  "${join(file, "state")}" cannot be written\n`);
  });
});
