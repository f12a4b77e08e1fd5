import { describe, expect, it } from "vitest";
import { INIT_SCRIPT } from "@budgie/sandbox/init";
import { toSessionContainer, toSandboxContainer, type SandboxContainer } from "../../src/sandbox/container-options.ts";
import { toProxyContainer } from "../../src/sandbox/proxy-container.ts";

const turn: SandboxContainer = {
  imageId: "sha256:abc",
  strayVariables: [],
  user: { uid: 1000, gid: 1001 },
  extraGroups: ["50"],
  mounts: [{ type: "bind", source: "/w", target: "/workspace", isReadOnly: false }],
  network: "bridge",
  workspacePath: "/workspace",
  limits: { memoryBytes: 2 ** 31, cpus: 1.5, pids: 99, tmpBytes: 2 ** 20 },
  caFile: undefined,
  seccomp: "the-profile",
  hasUlimits: true,
  runtime: undefined,
  labels: { "dev.budgie": "1" },
};

describe("toSandboxContainer", () => {
  const options = toSandboxContainer(turn);

  // Every change of a sandbox's rights changes this expectation.
  it("has exactly this isolation profile", () => {
    expect(options.HostConfig).toEqual({
      Init: true,
      NetworkMode: "bridge",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges", "seccomp=the-profile"],
      Ulimits: Object.entries({ nofile: 16_384, sigpending: 1024, msgqueue: 2 ** 18, memlock: 2 ** 16, core: 1 }).map(
        ([Name, most]) => ({ Name, Soft: most, Hard: most }),
      ),
      GroupAdd: ["50"],
      PidsLimit: 99,
      Memory: 2 ** 31,
      MemorySwap: 2 ** 31,
      NanoCpus: 1_500_000_000,
      CpuShares: 512,
      LogConfig: { Type: "none", Config: {} },
      Tmpfs: {
        "/tmp": "rw,nosuid,nodev,exec,size=1048576,mode=1777",
        "/var/tmp": "rw,nosuid,nodev,exec,size=64m,mode=1777",
      },
      Mounts: [{ Type: "bind", Source: "/w", Target: "/workspace" }],
    });
  });

  it("has the same profile without a network, except for the network", () => {
    const { HostConfig } = toSandboxContainer({ ...turn, network: "none" });

    expect(HostConfig).toEqual({ ...options.HostConfig, NetworkMode: "none" });
  });

  it("empties what an image sets for the agent's programs, has the script unset it, and keeps what budgie sets itself", () => {
    const strayVariables = ["LD_PRELOAD", "NODE_OPTIONS", "HTTPS_PROXY", "a.b_PROXY"];
    const { Cmd, Env } = toSandboxContainer({ ...turn, strayVariables, network: "container:x" });

    expect(Cmd).toEqual(["LD_PRELOAD", "NODE_OPTIONS"]);
    expect(Env).toEqual(expect.arrayContaining(["LD_PRELOAD=", "NODE_OPTIONS=", "a.b_PROXY="]));
    expect(Env?.filter((variable) => variable.startsWith("HTTPS_PROXY="))).toEqual([
      "HTTPS_PROXY=http://127.0.0.1:3128",
    ]);
  });

  it("replaces the image's entrypoint and command by budgie's script, which gets the turn's own over stdin", () => {
    expect(options).toMatchObject({
      Image: "sha256:abc",
      Entrypoint: ["/bin/sh", "-c", INIT_SCRIPT, "budgie"],
      Cmd: [],
      User: "1000:1001",
      WorkingDir: "/workspace",
      Healthcheck: { Test: ["NONE"] },
      StopSignal: "SIGTERM",
    });
  });

  it("lets the forwarder begin and run that script, in a network of its own that leads to the proxy", () => {
    const forwarder = ["/run/budgie/forwarder", "/run/budgie/s", "3128"];
    const own = toSandboxContainer({ ...turn, network: "none", forwarder });

    expect(own.Entrypoint).toEqual([...forwarder, "/bin/sh", "-c", INIT_SCRIPT, "budgie"]);
    expect(own.Env).toEqual(toSandboxContainer({ ...turn, network: "container:other" }).Env);
    expect(own.HostConfig).toEqual(toSandboxContainer({ ...turn, network: "none" }).HostConfig);
  });

  it("keeps stdin open for one client only: its end is the end of the turn", () => {
    expect(options).toMatchObject({ OpenStdin: true, StdinOnce: true, AttachStdin: true });
    expect(options.Tty).toBeUndefined();
  });

  it("points every folder of the agent into its home, whatever the image says", () => {
    expect(options.Env).toEqual([
      "HOME=/home/agent",
      "USER=agent",
      "LOGNAME=agent",
      "LANG=C.UTF-8",
      "XDG_DATA_HOME=/home/agent/.local/share",
      "XDG_CONFIG_HOME=/home/agent/.config",
      "XDG_CACHE_HOME=/home/agent/.cache",
      "XDG_STATE_HOME=/home/agent/.local/state",
    ]);
  });

  it("uses the engine's default runtime unless one is named", () => {
    expect(options.HostConfig).not.toHaveProperty("Runtime");
    expect(toSandboxContainer({ ...turn, runtime: "runsc" }).HostConfig).toMatchObject({ Runtime: "runsc" });
  });

  it("names root root", () => {
    const { Env } = toSandboxContainer({ ...turn, user: { uid: 0, gid: 0 } });

    expect(Env).toEqual(expect.arrayContaining(["USER=root", "LOGNAME=root", "HOME=/home/agent"]));
  });
});

describe("toSandboxContainer, of a turn that joins a session container", () => {
  const joined = toSandboxContainer({ ...turn, network: "container:budgie-session-1" });
  const plain = toSandboxContainer(turn);
  const added = (options: typeof plain): readonly string[] =>
    (options.Env ?? []).filter((line) => plain.Env?.includes(line) !== true);

  it("has the same isolation profile, except for the network", () => {
    expect(joined.HostConfig).toEqual({ ...plain.HostConfig, NetworkMode: "container:budgie-session-1" });
  });

  it("sets no option that belongs to the network's owner, which engines refuse", () => {
    expect(Object.keys({ ...joined, ...joined.HostConfig })).not.toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^(?:Hostname|Domainname|Dns.*|ExtraHosts|ExposedPorts|PortBindings)$/),
      ]),
    );
  });

  it("sets the proxy's variables, and exempts the loopback", () => {
    const proxy = "http://127.0.0.1:3128";

    expect(added(joined).toSorted()).toEqual([
      `HTTPS_PROXY=${proxy}`,
      `HTTP_PROXY=${proxy}`,
      "JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128",
      "NODE_USE_ENV_PROXY=1",
      "NO_PROXY=localhost,127.0.0.1,::1",
      "PIP_RETRIES=2",
      `http_proxy=${proxy}`,
      `https_proxy=${proxy}`,
      "no_proxy=localhost,127.0.0.1,::1",
      "npm_config_fetch_retry_maxtimeout=4000",
      "npm_config_fetch_retry_mintimeout=1000",
    ]);
  });

  it("names the user's certificates on every network", () => {
    const all = added(toSandboxContainer({ ...turn, caFile: "/host/ca.pem" }));
    const java =
      "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStore=/etc/budgie/ca.p12";
    const names = all.filter((line) => line !== java).map((line) => line.split("="));

    expect(all).toContain(java);
    expect(new Set(names.map(([, path]) => path))).toEqual(new Set(["/etc/budgie/ca.pem"]));
    expect(names.map(([name]) => name)).toEqual(
      expect.arrayContaining(["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"]),
    );
  });
});

const LABELS = { "dev.budgie": "1" };
const ISOLATION = {
  ReadonlyRootfs: true,
  CapDrop: ["ALL"],
  SecurityOpt: ["no-new-privileges", "seccomp=the-profile"],
  LogConfig: { Type: "none", Config: {} },
};
const socket = { type: "bind", source: "/s", target: "/run/budgie", isReadOnly: true } as const;

it("the session container has exactly this isolation profile, and no network but its own loopback", () => {
  const common = { imageId: "sha256:abc", user: turn.user, mounts: [socket], labels: LABELS };
  const sessionContainer = { ...common, socketPath: "/run/budgie/s", seccomp: turn.seccomp };

  expect(toSessionContainer(sessionContainer)).toEqual({
    Image: "sha256:abc",
    Entrypoint: ["/forwarder"],
    Cmd: ["/run/budgie/s"],
    User: "1000:1001",
    Labels: LABELS,
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      NetworkMode: "none",
      ...ISOLATION,
      PidsLimit: 32,
      Memory: 64 * 2 ** 20,
      MemorySwap: 64 * 2 ** 20,
      NanoCpus: 1e9,
      Mounts: [{ Type: "bind", Source: "/s", Target: "/run/budgie", ReadOnly: true }],
    },
  });
});

it("the egress proxy's container has exactly this isolation profile, and ends with its only client", () => {
  const proxy = {
    imageId: "sha256:abc",
    user: turn.user,
    command: ["node", "x"] as const,
    mounts: [socket],
    seccomp: turn.seccomp,
    labels: LABELS,
  };
  const options = toProxyContainer(proxy);

  expect(options).toMatchObject({ Entrypoint: ["node", "x"], User: "1000:1001", OpenStdin: true, StdinOnce: true });
  expect(options.Env).toEqual(["HOME=/", "NODE_OPTIONS="]);
  expect(options.HostConfig).toEqual({
    Init: true,
    NetworkMode: "bridge",
    ...ISOLATION,
    PidsLimit: 64,
    Memory: 512 * 2 ** 20,
    MemorySwap: 512 * 2 ** 20,
    NanoCpus: 1e9,
    Mounts: [{ Type: "bind", Source: "/s", Target: "/run/budgie", ReadOnly: true }],
  });
});
