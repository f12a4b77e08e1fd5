import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connectEngine, formatSilence } from "../../src/engine/engine.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

const VERSION = {
  ApiVersion: "1.41",
  Version: "20.10.24",
  Os: "linux",
  Arch: "amd64",
  Components: [{ Name: "Engine" }],
};
const INFO = {
  NCPU: 3,
  MemTotal: 2 ** 33,
  Runtimes: { runsc: {}, runc: {} },
  SecurityOptions: ["name=seccomp,profile=default"],
};

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "budgie-home-"))));
afterEach(() => rmSync(home, { recursive: true }));

describe("connectEngine", () => {
  it("describes the engine and its endpoint", async () => {
    await using fake = await createFakeEngine({ "GET /version": VERSION, "GET /info": INFO });

    expect(await connectEngine(fake.hostEnv, home)).toMatchObject({
      name: "Docker",
      version: "20.10.24",
      apiVersion: "1.41",
      platform: "linux/amd64",
      cpus: 3,
      memoryBytes: 2 ** 33,
      runtimes: ["runc", "runsc"],
      users: "same",
      endpoint: { url: fake.hostEnv.DOCKER_HOST, foundBy: "DOCKER_HOST" },
    });
  });

  it.each([
    ["rootless", ["name=seccomp,profile=default", "name=rootless"]],
    ["remapped", ["name=userns"]],
  ])("recognises an engine with %s users", async (users, SecurityOptions) => {
    await using fake = await createFakeEngine({ "GET /version": VERSION, "GET /info": { ...INFO, SecurityOptions } });

    expect((await connectEngine(fake.hostEnv, home)).users).toBe(users);
  });

  it("lists the endpoints at which none answered as the cause", async () => {
    const socket = join(home, "gone.sock");

    await expect(connectEngine({ DOCKER_HOST: `unix://${socket}` }, home)).rejects.toMatchObject({
      cause: [{ url: `unix://${socket}`, foundBy: "DOCKER_HOST", code: "ENOENT" }],
    });
  });

  it("distinguishes Podman and Docker", async () => {
    const version = { ...VERSION, Version: "4.3.1", Components: [{ Name: "Podman Engine" }] };
    await using fake = await createFakeEngine({ "GET /version": version, "GET /info": INFO });

    expect((await connectEngine(fake.hostEnv, home)).name).toBe("Podman");
  });

  it.each([
    ["1.39", /speaks API 1\.39, and budgie needs 1\.40.*Update it to Docker 20\.10/],
    ["1.9", /speaks API 1\.9/],
    [undefined, /API of no known version/],
  ])("refuses an engine of API %s in one line", async (ApiVersion, message) => {
    await using fake = await createFakeEngine({ "GET /version": { ...VERSION, ApiVersion }, "GET /info": INFO });

    await expectOneLine(connectEngine(fake.hostEnv, home), message);
  });

  it.each(["1.40", "1.100", "2.0"])("accepts an engine of API %s", async (ApiVersion) => {
    await using fake = await createFakeEngine({ "GET /version": { ...VERSION, ApiVersion }, "GET /info": INFO });

    expect((await connectEngine(fake.hostEnv, home)).apiVersion).toBe(ApiVersion);
  });

  it("gives up an engine that never answers, and a silent socket", async () => {
    await using fake = await createFakeEngine({ "GET /version": VERSION, "GET /info": "never" });
    const socket = join(home, "silent.sock");
    const server = createServer(() => undefined).listen(socket);

    const timeout = AbortSignal.timeout.bind(AbortSignal);
    using limit = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout(300));

    const firstAttempt = [fake.hostEnv, { DOCKER_HOST: `unix://${socket}` }].map((hostEnv) =>
      expectOneLine(connectEngine(hostEnv, home), /no answer within 15 s/),
    );

    await Promise.all(firstAttempt);
    // On a loaded machine, what earlier tests of this worker left may connect too.
    expect(new Set(limit.mock.calls.flat())).toEqual(new Set([15_000]));
    server.close();
  });

  it.each([
    ["that is not there", () => undefined, /nothing listens there/],
    ["that is an ordinary file", (path: string) => writeFileSync(path, ""), /nothing listens there/],
  ])("names a socket %s, and what to do", async (_, make, reason) => {
    const socket = join(home, "engine.sock");
    make(socket);

    const line = await expectOneLine(connectEngine({ DOCKER_HOST: `unix://${socket}` }, home), reason);

    expect(line).toContain(`unix://${socket} (from DOCKER_HOST)`);
    expect(line).toMatch(/Start Docker or Podman, or set DOCKER_HOST\.$/);
  });

  it("asks nobody to start an engine that only refuses its socket", () => {
    const refused = { url: "unix:///run/docker.sock", foundBy: "the usual sockets", code: "EACCES" };
    const problems = ["unix:///run/docker.sock: permission denied"];

    expect(formatSilence({ problems, cause: [refused] }, [])).toMatch(/: permission denied\.$/);
    expect(formatSilence({ problems, cause: [refused, { ...refused, code: "ENOENT" }] }, [])).toMatch(/Start Docker/);
  });

  it("reports a server that is no engine", async () => {
    const socket = join(home, "other.sock");
    const server = createServer((client) => client.end("SSH-2.0-OpenSSH\r\n")).listen(socket);

    await expectOneLine(connectEngine({ DOCKER_HOST: `unix://${socket}` }, home), /Cannot reach a container engine/);
    server.close();
  });

  it("uses the given environment, not this process's", async () => {
    await using fake = await createFakeEngine({ "GET /version": VERSION, "GET /info": INFO });
    const before = process.env["DOCKER_HOST"];
    process.env["DOCKER_HOST"] = "tcp://127.0.0.1:9";
    try {
      expect((await connectEngine(fake.hostEnv, home)).version).toBe("20.10.24");
    } finally {
      if (before === undefined) delete process.env["DOCKER_HOST"];
      else process.env["DOCKER_HOST"] = before;
    }
  });
});

/** Expects a message of one line, without a stack or an error code, and returns it. */
async function expectOneLine(connecting: Promise<unknown>, message: RegExp): Promise<string> {
  const error = await connecting.then(
    () => new Error("it connected"),
    (reason: Error) => reason,
  );
  expect(error).toMatchObject({ code: "RUNNER_UNAVAILABLE", message: expect.stringMatching(message) });
  expect(error.message).not.toContain("\n");
  return error.message;
}
