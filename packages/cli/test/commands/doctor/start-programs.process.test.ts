import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

const AGENT = fileURLToPath(new URL("../../../../protocols/test/acp/fixtures/agent.mjs", import.meta.url));

const NO_ENGINE = { DOCKER_HOST: "unix:///nowhere/docker.sock", PATH: "/usr/bin:/bin" };

it("budgie doctor starts no program outside a sandbox", async () => {
  await using user = await createBudgieUser();
  const [file, none, said] = ["budgie.json", "none", "said"].map((name) => join(user.host.home, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(none);
  const entry = { protocol: "acp", description: "Codes." };
  const agents = {
    coder: { ...entry, command: process.execPath, args: [AGENT], env: ["SESSION_FILE"] },
    poor: { ...entry, command: "sh", args: ["-c", `touch ${said}`], env: ["UNSET"] },
  };
  writeFileSync(file, JSON.stringify({ agents }));

  const args = ["doctor", "--config", file, "--agents-dir", none, "--sessions-dir", join(none, "sessions")];
  const { stdout } = await user.command(args, { ...NO_ENGINE, SESSION_FILE: said });

  expect(stdout).toMatch(/^note +agent +coder: its program was not started, since it would run as you/m);
  expect(stdout).not.toMatch(/poor: its program/);
  expect([said, `${said}.pids`].filter((path) => existsSync(path))).toEqual([]);
});
