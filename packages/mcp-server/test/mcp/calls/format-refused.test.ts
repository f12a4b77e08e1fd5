import { describe, expect, it } from "vitest";
import { CERTIFICATE_REFUSED, type EgressReport } from "@budgie/core";
import { formatRemedy } from "../../../src/mcp/calls/format-refused.ts";
import { toEgressRemarks } from "../../../src/mcp/calls/format-facts.ts";

const deny = (hosts: readonly string[]): EgressReport => ({
  allowed: [],
  denied: hosts.map((host) => ({ host, port: 443, count: 1, why: "not on the allow-list" })),
});

describe("what allows a refused host", () => {
  it.each([
    [["evil.test"], "--allow-host"],
    [["pypi.org", "files.pythonhosted.org"], "--allow-preset pypi or --allow-host"],
    [["evil.test", "registry.npmjs.org", "pypi.org"], "--allow-preset npm or --allow-preset pypi or --allow-host"],
  ])("of %j is %s", (hosts, options) => {
    expect(formatRemedy(deny(hosts))).toBe(options);
    expect(toEgressRemarks(deny(hosts)).join(" ")).toContain(`the user can allow that with ${options}.`);
  });
});

it.each([
  ["its name resolves to no public address", "; the user can allow that with --allow-host NAME=ADDRESS."],
  ["TLS names another server (SNI)", "."],
  ["no network is allowed", "."],
])("What allows a host that is refused since %s is said only if there is something", (why, remedy) => {
  const [remark] = toEgressRemarks({ allowed: [], denied: [{ host: "pypi.org", port: 443, count: 1, why }] });

  expect(remark).toBe(`Its network policy refused: pypi.org:443 (once). The work may be incomplete${remedy}`);
});

it("A host that was allowed and could not be reached is named with the reason, of many the first ten", () => {
  const failed = Array.from({ length: 12 }, (_, at) => ({
    host: `${at}.test`,
    port: 443,
    count: at + 1,
    why: "EPIPE",
  }));

  expect(toEgressRemarks({ allowed: [], denied: [], failed })).toEqual([
    expect.stringMatching(
      /^These hosts are allowed, and could not be reached: 0\.test:443 \(EPIPE, once\), .*9\.test:443 \(EPIPE, 10 times\), 2 more\.$/,
    ),
  ]);
});

it("A certificate that a program did not accept comes with the option that names others", () => {
  const failed = [{ host: "npm.test", port: 443, count: 1, why: CERTIFICATE_REFUSED }];

  expect(toEgressRemarks({ allowed: [], denied: [], failed })).toEqual([
    "These hosts are allowed, and could not be reached: npm.test:443 (the program did not accept its certificate, once). " +
      'If your network inspects TLS, name its certificates with --ca-file; "budgie doctor --sandbox" says whose they are.',
  ]);
});
