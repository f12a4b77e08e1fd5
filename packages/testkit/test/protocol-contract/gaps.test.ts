import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PROTOCOL_GAPS } from "@budgie/testkit";

const ADR = new URL(
  "../../../../docs/adr/0021-every-protocol-keeps-one-list-of-facts-or-says-why-not.md",
  import.meta.url,
);

it("the table of what protocols do not have is the one of the ADR", () => {
  const rows = readFileSync(ADR, "utf8").matchAll(/^\| ([^|]+) \| (?:Kiro|A2A): ([^|]+) \|/gm);
  const written = [...rows].map(([, fact, reason]) => `${fact}: ${reason}`);

  const gaps = Object.values(PROTOCOL_GAPS).flatMap((gap) => Object.entries(gap));
  expect(written).toEqual(gaps.map(([fact, reason]) => `${fact}: ${reason}`));
});
