import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findEndpoints, usualSockets } from "../../src/engine/find-endpoints.ts";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "budgie-find-"))));
afterEach(() => rmSync(home, { recursive: true }));

describe("findEndpoints with DOCKER_HOST", () => {
  it.each([
    ["unix:///run/user/1000/docker.sock", { socketPath: "/run/user/1000/docker.sock" }],
    ["tcp://10.0.0.1", { host: "10.0.0.1", port: 2375, protocol: "http", tls: undefined }],
    ["tcp://10.0.0.1:2376/", { host: "10.0.0.1", port: 2376, protocol: "http", tls: undefined }],
    ["tcp://[::1]:1234", { host: "::1", port: 1234, protocol: "http", tls: undefined }],
    ["http://engine:1", { host: "engine", port: 1, protocol: "http", tls: undefined }],
    ["https://engine", { host: "engine", port: 2376, protocol: "https", tls: undefined }],
  ])("accepts %s", (url, address) => {
    expect(findEndpoints({ DOCKER_HOST: url }, home)).toEqual([{ address, url, foundBy: "DOCKER_HOST" }]);
  });

  it("takes a host for ssh, which gets the environment", () => {
    const env = { DOCKER_HOST: "ssh://me@host", PATH: "/bin" };
    const ssh = { name: "host", user: "me", port: undefined, socketPath: undefined };
    expect(findEndpoints(env, home)).toEqual([{ address: { ssh, env }, url: "ssh://me@host", foundBy: "DOCKER_HOST" }]);
  });

  it.each(["npipe:////./pipe/docker_engine", "fd://", "/var/run/docker.sock", "tcp://", "unix://", "nonsense"])(
    "refuses %s and names the accepted forms",
    (url) => {
      expect(() => findEndpoints({ DOCKER_HOST: url }, home)).toThrow(
        expect.objectContaining({
          code: "RUNNER_UNAVAILABLE",
          message: `Cannot use the engine at "${url}" (from DOCKER_HOST). Give it as unix://, ssh://, tcp:// or https://.`,
        }),
      );
    },
  );

  it("uses the certificates of DOCKER_CERT_PATH when TLS is requested", () => {
    const certificates = writeCertificates(join(home, "certs"));

    const env = { DOCKER_HOST: "tcp://engine", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: certificates };
    expect(addressOf(env)).toEqual({ host: "engine", port: 2376, protocol: "https", tls: TLS });
  });

  it.each([undefined, ""])("looks for certificates in ~/.docker when DOCKER_CERT_PATH is %j", (path) => {
    writeCertificates(join(home, ".docker"));

    const env = { DOCKER_HOST: "tcp://engine:7", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: path };
    expect(addressOf(env)).toMatchObject({ port: 7, tls: TLS });
  });

  it("names the folder whose certificates cannot be read", () => {
    const env = { DOCKER_HOST: "tcp://engine", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: join(home, "none") };

    expect(() => findEndpoints(env, home)).toThrow(
      expect.objectContaining({ code: "RUNNER_UNAVAILABLE", message: expect.stringContaining(join(home, "none")) }),
    );
  });
});

describe("findEndpoints with a docker context", () => {
  it("uses the current one of the docker command", () => {
    writeContext("colima", { Host: "unix:///colima.sock" });
    writeConfig({ currentContext: "colima" });

    expect(findEndpoints({}, home)).toEqual([
      {
        address: { socketPath: "/colima.sock" },
        url: "unix:///colima.sock",
        foundBy: 'the docker context "colima"',
      },
    ]);
  });

  it("prefers DOCKER_CONTEXT to the current one, and DOCKER_HOST to both", () => {
    writeContext("current", { Host: "unix:///current.sock" });
    writeContext("named", { Host: "unix:///named.sock" });
    writeConfig({ currentContext: "current" });

    expect(addressOf({ DOCKER_CONTEXT: "named" })).toEqual({ socketPath: "/named.sock" });
    const both = { DOCKER_CONTEXT: "named", DOCKER_HOST: "unix:///host.sock" };
    expect(addressOf(both)).toEqual({ socketPath: "/host.sock" });
    expect(addressOf({ DOCKER_CONTEXT: "", DOCKER_HOST: "" })).toEqual({ socketPath: "/current.sock" });
  });

  it("looks in DOCKER_CONFIG, and in ~/.docker when that is empty", () => {
    writeContext("here", { Host: "unix:///here.sock" });
    writeContext("there", { Host: "unix:///there.sock" }, join(home, "config"));

    expect(addressOf({ DOCKER_CONTEXT: "there", DOCKER_CONFIG: join(home, "config") })).toEqual({
      socketPath: "/there.sock",
    });
    expect(addressOf({ DOCKER_CONTEXT: "here", DOCKER_CONFIG: "" })).toEqual({ socketPath: "/here.sock" });
  });

  it("may name a host for ssh", () => {
    writeContext("remote", { Host: "ssh://-oProxyCommand=x" });
    const env = { DOCKER_CONTEXT: "remote" };
    expect(() => addressOf(env)).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringContaining('the docker context "remote"'),
      }),
    );

    writeContext("remote", { Host: "ssh://host" });
    expect(addressOf(env)).toMatchObject({ ssh: { name: "host" }, env });
  });

  it("uses the context's certificates", () => {
    const folder = writeContext("remote", { Host: "tcp://remote:2376", SkipTLSVerify: false });
    writeCertificates(folder.replace("meta", "tls") + "/docker");

    expect(addressOf({ DOCKER_CONTEXT: "remote" })).toEqual({
      host: "remote",
      port: 2376,
      protocol: "https",
      tls: TLS,
    });
  });

  it("is an error if it is chosen and missing: no other engine may replace it", () => {
    expect(() => findEndpoints({ DOCKER_CONTEXT: "gone" }, home)).toThrow(
      expect.objectContaining({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/"gone" has no endpoint in ".*\.docker".*docker context use/),
      }),
    );
  });

  it("never falls back to the usual sockets after a choice", () => {
    const socket = join(home, ".docker/run/docker.sock");
    touch(socket);

    expect(addressOf({ DOCKER_HOST: "unix:///nonexistent" })).toEqual({ socketPath: "/nonexistent" });
    expect(findEndpoints({ DOCKER_HOST: "unix:///nonexistent" }, home)).toHaveLength(1);
    expect(socketsOf({ DOCKER_CONTEXT: "default" })).toContain(socket);
  });
});

describe("findEndpoints without a choice", () => {
  it("lists the usual sockets that exist, in their order", () => {
    const runtime = join(home, "runtime");
    const made = [
      join(runtime, "podman/podman.sock"),
      join(home, ".colima/default/docker.sock"),
      join(runtime, "docker.sock"),
    ];
    for (const path of made) touch(path);

    const found = socketsOf({ XDG_RUNTIME_DIR: runtime }).filter((path) => path.startsWith(home));

    expect(found).toEqual([made[2], made[1], made[0]]);
  });

  it("knows Docker, rootless Docker, Desktop, Colima, OrbStack, Rancher Desktop and Podman", () => {
    expect(usualSockets({ XDG_RUNTIME_DIR: "/run/user/7" }, "/h")).toEqual([
      "/var/run/docker.sock",
      "/run/user/7/docker.sock",
      "/h/.docker/run/docker.sock",
      "/h/.docker/desktop/docker.sock",
      "/h/.colima/default/docker.sock",
      "/h/.orbstack/run/docker.sock",
      "/h/.rd/docker.sock",
      "/run/user/7/podman/podman.sock",
      "/run/podman/podman.sock",
    ]);
  });

  it("ignores an empty XDG_RUNTIME_DIR", () => {
    expect(usualSockets({ XDG_RUNTIME_DIR: "" }, "/h").filter((path) => !path.startsWith("/"))).toEqual([]);
  });
});

const TLS = { ca: "the ca", cert: "the cert", key: "the key" };

function addressOf(env: Readonly<Record<string, string | undefined>>) {
  return findEndpoints(env, home)[0]?.address;
}

function socketsOf(env: Readonly<Record<string, string | undefined>>) {
  return findEndpoints(env, home).map(({ url }) => url.slice("unix://".length));
}

function writeCertificates(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(TLS)) writeFileSync(join(folder, `${name}.pem`), content);
  return folder;
}

function writeConfig(config: unknown): void {
  mkdirSync(join(home, ".docker"), { recursive: true });
  writeFileSync(join(home, ".docker/config.json"), JSON.stringify(config));
}

/** Writes a context like the docker command, and returns its folder. */
function writeContext(name: string, docker: unknown, configDir = join(home, ".docker")): string {
  const folder = join(configDir, "contexts/meta", createHash("sha256").update(name).digest("hex"));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "meta.json"), JSON.stringify({ Name: name, Metadata: {}, Endpoints: { docker } }));
  return folder;
}

function touch(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
}
