import { describe, expect, it } from "vitest";
import { formatSshHost, parseSshHost } from "../../src/ssh/parse-ssh-host.ts";

const NOTHING = { user: undefined, port: undefined, socketPath: undefined };

describe("parseSshHost", () => {
  it.each([
    ["ssh://host", { name: "host" }],
    ["ssh://host/", { name: "host" }],
    ["ssh://me@build-1.example.com:2222", { name: "build-1.example.com", user: "me", port: 2222 }],
    [
      "ssh://m.e+x_y-z@10.0.0.1/run/user/1000/docker.sock",
      { name: "10.0.0.1", user: "m.e+x_y-z", socketPath: "/run/user/1000/docker.sock" },
    ],
    ["ssh://[fe80::1]:22", { name: "fe80::1", port: 22 }],
  ])("parses %s", (url, expected) => {
    expect(parseSshHost(url, "DOCKER_HOST")).toEqual({ ...NOTHING, ...expected });
  });

  it.each([
    ["ssh://", /no host/],
    ["ssh://me@", /no host/],
    ["ssh://-oProxyCommand=x", /no host/],
    ["ssh://host name", /no host/],
    ["ssh://$(id)", /no host/],
    ["ssh://%h", /no host/],
    ["ssh://a\nb", /no host/],
    ["ssh://[::1", /no host/],
    ["ssh://host?x=1", /no host/],
    ["ssh://host#x", /no host/],
    ["ssh://host:", /no host/],
    [`ssh://${"h".repeat(254)}`, /no host/],
    ["ssh://-l@host", /its user/],
    ["ssh://a;b@host", /its user/],
    ["ssh://host:0", /no such port/],
    ["ssh://host:65536", /no such port/],
    ["ssh://host/run/x;reboot", /its path/],
    ["ssh://host/$(id)", /its path/],
    ["ssh://host/a b", /its path/],
  ])("refuses %j", (url, reason) => {
    expect(() => parseSshHost(url, "DOCKER_HOST")).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(reason) }),
    );
  });

  it("refuses a password without repeating it", () => {
    const refused = expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/^(?!.*hunter2).*DOCKER_HOST: it holds a password/s),
    });
    expect(() => parseSshHost("ssh://me:hunter2@host", "DOCKER_HOST")).toThrow(refused);
  });
});

describe("formatSshHost", () => {
  it("is how a person would type it", () => {
    expect(formatSshHost(parseSshHost("ssh://me@host:7/x.sock", ""))).toBe("-p 7 me@host");
    expect(formatSshHost(parseSshHost("ssh://host", ""))).toBe("host");
  });
});
