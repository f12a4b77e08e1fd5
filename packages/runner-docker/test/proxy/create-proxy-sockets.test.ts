import { expect, it } from "vitest";
import { chooseProxyPlacement } from "../../src/proxy/create-proxy-sockets.ts";

const HERE = { platform: "linux", kernel: "6.1.0" };
const LOCAL = {
  endpoint: { address: { socketPath: "/var/run/docker.sock" }, url: "unix:///var/run/docker.sock", foundBy: "x" },
  system: "Debian GNU/Linux 12 (bookworm)",
  kernel: "6.1.0",
};
const tcp = { host: "far.test", port: 2375, protocol: "http", tls: undefined } as const;

it.each([
  ["an engine of this machine", LOCAL, "host"],
  ["an engine at a TCP address", { ...LOCAL, endpoint: { ...LOCAL.endpoint, address: tcp } }, "container"],
  ["Docker Desktop, whose kernel may have the same release", { ...LOCAL, system: "Docker Desktop" }, "container"],
  ["a socket that leads to another kernel, such as a forwarded one", { ...LOCAL, kernel: "5.15" }, "container"],
] as const)("for %s", (_what, engine, placement) => {
  expect(chooseProxyPlacement(engine, HERE)).toBe(placement);
});

it("for a virtual machine on a Mac", () => {
  expect(chooseProxyPlacement(LOCAL, { platform: "darwin", kernel: LOCAL.kernel })).toBe("container");
});
