import { BudgieError } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { parseAllowedHost } from "../../src/rules/parse-allowed-host.ts";

const from = "--allow-host";

describe("parseAllowedHost", () => {
  it.each([
    ["example.com", { host: "example.com", port: 443, address: undefined }],
    ["Example.COM.", { host: "example.com", port: 443, address: undefined }],
    ["example.com:8443", { host: "example.com", port: 8443, address: undefined }],
    ["*.Example.com", { host: "*.example.com", port: 443, address: undefined }],
    ["db.example.com=10.0.0.5", { host: "db.example.com", port: 443, address: "10.0.0.5" }],
    ["db.example.com:80=fd00::5", { host: "db.example.com", port: 80, address: "fd00::5" }],
    ["llm:4010=127.0.0.1", { host: "llm", port: 4010, address: "127.0.0.1" }],
    ["_srv.example.com", { host: "_srv.example.com", port: 443, address: undefined }],
    ["xn--mller-kva.example", { host: "xn--mller-kva.example", port: 443, address: undefined }],
  ])("reads %s", (text, expected) => {
    expect(parseAllowedHost(text, from)).toEqual({ ...expected, from });
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "127.0.0.1.",
    "[::1]",
    "::1",
    "::ffff:127.0.0.1",
    "[::1]:443",
    "*.1",
    "127.0.0.1:443",
    "127.0.0.1=10.0.0.1",
  ])("refuses the address %s", (text) => {
    expect(() => parseAllowedHost(text, from)).toThrow(/an address is not a name/);
  });

  it.each(["*", "*.com", "a*.example.com", "a.*.example.com", "*.*.example.com", "*example.com"])(
    "refuses the wildcard %s",
    (text) => {
      expect(() => parseAllowedHost(text, from)).toThrow(/wildcard/);
    },
  );

  it.each(["a.com:0", "a.com:65536", "a.com:x", "a.com:", "a.com:+80", "a.com:0x50"])(
    "refuses the port of %s",
    (text) => {
      expect(() => parseAllowedHost(text, from)).toThrow(/port/);
    },
  );

  it.each([
    "",
    ".",
    "..",
    "a..com",
    "-a.com",
    "a-.com",
    "a b.com",
    "https://a.com",
    "a.com/path",
    "user@a.com",
    "müller.example",
    "a.com\n",
    `${"a".repeat(64)}.com`,
    `${"a.".repeat(130)}com`,
  ])("refuses %j as a name", (text) => {
    expect(() => parseAllowedHost(text, from)).toThrow(/not a host name|not a name|not a port/);
  });

  it.each(["a.com=", "a.com=b.com", "a.com=127.1", "a.com=10.0.0.5:80", "a.com=10.0.0.0/8"])(
    "refuses to pin %s",
    (text) => {
      expect(() => parseAllowedHost(text, from)).toThrow(/not an IP address/);
    },
  );

  it("names the entry, its source and the right format", () => {
    const attempt = () => parseAllowedHost("10.0.0.1", "agent docs");

    expect(attempt).toThrow(BudgieError);
    expect(attempt).toThrow(/"10\.0\.0\.1" \(agent docs\).*NAME\[:PORT\]\[=ADDRESS\]/s);
  });
});
