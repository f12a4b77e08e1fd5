import { expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import { createHostHome, type HostHome } from "@budgie/testkit";
import { createKiroLogin } from "@budgie/sandbox/login";
import { inspectSandbox } from "../../src/maintenance/inspect-sandbox.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

const ANSWERS = {
  "GET /version": { ApiVersion: "1.41", Version: "20.10.24" },
  "GET /info": { NCPU: 2, SecurityOptions: ["name=seccomp,profile=default"] },
  "GET /images/there/json": { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z" },
};

const optionsOf = (host: HostHome, image: string, hostEnv: Readonly<Record<string, string>>) => ({
  image,
  program: "kiro-cli",
  owner: createOwner({ stateDir: host.home }).record,
  login: createKiroLogin({ dataDir: host.dataDir }),
  stateDir: host.home,
  home: host.home,
  hostEnv,
});

it("reports the engine, the image and the login", async () => {
  await using host = await createHostHome();
  await using fake = await createFakeEngine(ANSWERS);

  expect(await inspectSandbox(optionsOf(host, "there", fake.hostEnv))).toMatchObject({
    engine: {
      ok: true,
      facts: {
        name: "Docker",
        version: "20.10.24",
        endpoint: fake.hostEnv.DOCKER_HOST,
        protections: expect.arrayContaining([expect.objectContaining({ name: "seccomp", state: "held" })]),
      },
    },
    image: { ok: true, facts: { id: "sha256:abc" } },
    login: { ok: true, facts: { updated: expect.any(Date) } },
  });
});

it("reports the problem of each part", async () => {
  await using host = await createHostHome({ login: false });
  await using fake = await createFakeEngine(ANSWERS);

  expect(await inspectSandbox(optionsOf(host, "missing", fake.hostEnv))).toMatchObject({
    engine: { ok: true },
    image: { ok: false, problem: expect.stringMatching(/"missing".*build-image/) },
    program: { ok: false, problem: "there is no image to look into" },
    login: { ok: false, problem: expect.stringMatching(/kiro-cli login/) },
  });
});

it("reports what an engine needs to start a container", async () => {
  await using host = await createHostHome();
  const refusal = {
    message: 'container create: lookup init binary: exec: "catatonit": executable file not found in $PATH',
  };
  await using fake = await createFakeEngine({
    ...ANSWERS,
    "POST /containers/create": [{ status: 500, body: refusal }],
  });

  const { program } = await inspectSandbox(optionsOf(host, "there", fake.hostEnv));

  expect(program).toEqual({
    ok: false,
    problem: expect.stringMatching(/Install it where the engine runs: .*catatonit/),
  });
});

it("does not look for an image without an engine", async () => {
  await using host = await createHostHome();

  expect(await inspectSandbox(optionsOf(host, "there", { DOCKER_HOST: "unix:///nonexistent" }))).toMatchObject({
    engine: { ok: false, problem: expect.stringMatching(/nothing listens there/) },
    image: { ok: false, problem: "there is no engine to ask" },
    program: { ok: false, problem: "there is no engine to ask" },
    login: { ok: true },
  });
});

it.each([
  ["key", true],
  ["", false],
])("counts KIRO_API_KEY=%j as a login: %s", async (key, ok) => {
  await using host = await createHostHome({ login: false });
  const hostEnv = { DOCKER_HOST: "unix:///nonexistent", KIRO_API_KEY: key };

  expect((await inspectSandbox(optionsOf(host, "there", hostEnv))).login?.ok).toBe(ok);
});
