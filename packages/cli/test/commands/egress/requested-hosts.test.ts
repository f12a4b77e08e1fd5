import type { EgressDenial } from "@budgie/core";
import type { Run } from "@budgie/core/runs";
import { expect, it } from "vitest";
import { countRequestedHosts } from "../../../src/commands/egress/requested-hosts.ts";

const MISSING: EgressDenial = { host: "a.test", port: 443, count: 2, why: "not on the allow-list" };
const TELEMETRY: EgressDenial = { host: "ab.chatgpt.com", port: 443, count: 8, why: "known telemetry" };
const ADDRESS: EgressDenial = { host: "1.1.1.1:443", port: 0, count: 1, why: "it is an address" };

it("the requested hosts are those that a list could allow and those that none could, without telemetry", () => {
  const egress = { allowed: [], denied: [MISSING, TELEMETRY, ADDRESS] };

  const { needed, never } = countRequestedHosts([{ agent: "coder", egress } as unknown as Run]);

  expect(needed).toEqual([{ host: "a.test", port: 443, allowed: 0, denied: 2, agents: ["coder"] }]);
  expect(never).toEqual([ADDRESS]);
});
