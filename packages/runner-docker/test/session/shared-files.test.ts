import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import { toEndedProcess } from "@budgie/testkit";
import type { Engine } from "../../src/engine/engine.ts";
import { createPendingRemovals } from "../../src/engine/pending-removals.ts";
import type { SandboxImage } from "../../src/image/find-image.ts";
import { createSharedFiles } from "../../src/session/shared-files.ts";
import { createFakeEngine, type Answers } from "../helpers/fake-engine.ts";

const folder = mkdtempSync(join(tmpdir(), "budgie-"));
afterAll(() => rmSync(folder, { recursive: true }));

const TCP = { host: "10.0.0.1", port: 2375, protocol: "http", tls: undefined } as const;
const CREATE = "POST /containers/create";
const REFUSED = {
  status: 400,
  body: { message: 'invalid mount config for type "bind": bind source path does not exist: /x' },
};

async function openShared(answers: Answers, parts: Partial<Engine> = {}) {
  const fake = await createFakeEngine(answers);
  const { docker } = fake;
  const named = { name: "Docker", version: "28.0.0" } as const;
  const endpoint = { address: TCP, url: "tcp://10.0.0.1", foundBy: "DOCKER_HOST" };
  const engine = { docker, pendingRemovals: createPendingRemovals(), endpoint, ...named, ...parts } as Engine;
  const owner = createOwner({ stateDir: folder, process: toEndedProcess() });
  const image = { id: "sha256:1", name: "image" } as SandboxImage;
  return { fake, shared: createSharedFiles({ engine, image, owner, scratchDir: join(folder, "scratch") }) };
}

it("refuses all but copies on an engine that does not find a new folder of this machine", async () => {
  const { fake, shared } = await openShared({ [CREATE]: [REFUSED, REFUSED] });
  await using _fake = fake;

  for (let turns = 0; turns < 2; turns++) {
    await expect(shared.check("rw")).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringMatching(
        /tcp:\/\/10\.0\.0\.1 does not see this machine's directories.*"allowRemoteCopy": true/,
      ),
    });
  }
  await expect(shared.check("copy")).resolves.toBe(false);
  await expect(shared.check("ro-copy")).resolves.toBe(false);
  expect(fake.requests.filter((line) => line.startsWith(CREATE))).toHaveLength(1);
  expect(readdirSync(join(folder, "scratch"))).toEqual([]);
});

it("asks again after an engine that did not answer", async () => {
  const { fake, shared } = await openShared({ [CREATE]: [{ status: 500, body: { message: "busy" } }, REFUSED] });
  await using _fake = fake;

  await expect(shared.check("copy")).rejects.toThrow("busy");
  await expect(shared.check("copy")).resolves.toBe(false);
});

it.each([
  ["Docker", 0],
  ["Podman", 1],
] as const)("asks %s once, and leaves no container", async (name, starts) => {
  const { fake, shared } = await openShared(
    { [CREATE]: { Id: "c1" }, "POST /containers/c1/start": {}, "DELETE /containers/c1": {} },
    { name },
  );
  await using _fake = fake;

  await expect(shared.check("rw")).resolves.toBe(true);
  await expect(shared.check("copy")).resolves.toBe(true);

  const lines = fake.requests.map((line) => line.split("?")[0]);
  expect(lines.filter((line) => line === CREATE)).toHaveLength(1);
  expect(lines.filter((line) => line === "POST /containers/c1/start")).toHaveLength(starts);
  expect(lines).toContain("DELETE /containers/c1");
});

it("asks no engine behind a socket of this machine", async () => {
  const endpoint = { address: { socketPath: "/x" }, url: "unix:///x", foundBy: "DOCKER_HOST" };
  const { fake, shared } = await openShared({}, { endpoint });
  await using _fake = fake;

  await expect(shared.check("rw")).resolves.toBe(true);

  expect(fake.requests).toEqual([]);
});
