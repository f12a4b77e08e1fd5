import { expect, it } from "vitest";
import { toServiceContainer } from "../../src/sandbox/service-container.ts";

// Every change of a service's rights changes this expectation.
it("A service has exactly this isolation profile", () => {
  const options = toServiceContainer({
    command: ["/forwarder", "reverse", "/s", "5432", "serve"],
    env: { WORD: "x" },
    hasUlimits: false,
    imageId: "sha256:abc",
    labels: {},
    mounts: [{ type: "bind", source: "/w", target: "/workspace", isReadOnly: false }],
    seccomp: "the-profile",
    user: { uid: 1000, gid: 1001 },
  });

  expect(options).toMatchObject({
    Entrypoint: ["/forwarder", "reverse", "/s", "5432", "serve"],
    Cmd: [],
    Env: ["WORD=x"],
    User: "1000:1001",
  });
  expect(options.HostConfig).toEqual({
    Init: true,
    NetworkMode: "none",
    ReadonlyRootfs: true,
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", "seccomp=the-profile"],
    Ulimits: [],
    PidsLimit: 256,
    Memory: 2 ** 30,
    MemorySwap: 2 ** 30,
    NanoCpus: 1_000_000_000,
    CpuShares: 512,
    LogConfig: { Type: "json-file", Config: { "max-size": "1m", "max-file": "1" } },
    Tmpfs: {
      "/tmp": "rw,nosuid,nodev,noexec,size=512m,mode=1777",
      "/run": "rw,nosuid,nodev,noexec,size=64m,mode=1777",
    },
    Mounts: [{ Type: "bind", Source: "/w", Target: "/workspace" }],
  });
});
