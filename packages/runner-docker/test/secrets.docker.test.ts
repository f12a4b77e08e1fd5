import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { createHostHome } from "@budgie/testkit";
import { createEngineProxy } from "./helpers/engine-proxy.ts";
import { createDockerPlace, KIRO_IMAGE, runCommand, testEngine } from "./helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

const KEY = "ksk-canary-key";

it("keeps a secret in the agent's processes: no URL, container, volume or remaining file contains it", async () => {
  await using host = await createHostHome();
  await using proxy = await createEngineProxy();
  const { runner } = await place.createRunner({ image: KIRO_IMAGE, kiroDataDir: host.dataDir, hostEnv: proxy.hostEnv });
  const session = await runner.openSession(createSessionId());
  // Gets the login, a copy of which lies on the host for a moment.
  const login = { argv: ["true"] as const, env: {}, projections: [], login: "kiro" };
  await runCommand(session, login, { directory: place.workspace });
  const child = await session.start(
    { ...login, argv: ["kiro-cli", "chat", "--no-interactive"], env: { KIRO_API_KEY: KEY } },
    { directory: place.workspace, input: "a-canary-prompt [[sleep 3000]]" },
  );
  child.stdout.resume();
  child.stderr.resume();
  const docker = await testEngine();
  const filters = { label: [`dev.budgie.session=${session.id}`] };
  const containers = await docker.listContainers({ all: true, filters });
  const { Volumes } = await docker.listVolumes({ filters });
  const turn = containers.find(({ Labels }) => Labels["dev.budgie.role"] === "turn");
  const inspected = await docker.getContainer(turn?.Id ?? "").inspect();
  await child.stop("cancelled");
  const scratch = readdirSync(place.stateDir, { recursive: true })
    .map(String)
    .filter((path) => path.includes("scratch/"));
  await runner.close();

  const lines = proxy.requestLines();
  expect(lines.filter((line) => /^POST \/containers\/create\?name=budgie-turn-[\w-]+ HTTP/.test(line))).toHaveLength(2);
  const known = JSON.stringify([lines, containers, Volumes, inspected]);
  expect(known).toContain("budgie_token");
  expect(known).not.toMatch(new RegExp(`${KEY}|${host.canaries.login}|a-canary-prompt|--no-interactive`));
  // The folder of this instance, without a copy of the login.
  expect(scratch.filter((path) => path.includes("login-"))).toEqual([]);
  expect(readdirSync(join(place.stateDir, "scratch"))).toEqual([]);
});

it("What is written for turns on this machine is open to its user alone", async () => {
  await using place = createDockerPlace();
  mkdirSync(join(place.workspace, ".kiro/agents"), { recursive: true });
  const { runner } = await place.createRunner();
  const session = await runner.openSession(createSessionId());

  await runCommand(
    session,
    { argv: ["true"], env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS },
    { directory: place.workspace },
  );

  expect(statSync(join(place.stateDir, "scratch")).mode & 0o777).toBe(0o700);
});
