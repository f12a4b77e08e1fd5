import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CLAIM_GROUPS, CLAIMS } from "@budgie/claims";
import { toClaimsTable, toTestId } from "./helpers/claims-table.ts";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const page = join(checkout, "docs/security.md");
// The table ends with the first line that is none of its own.
const TABLE = /^\| Claim \|[^]*?(?=\n[^|])|^\| Claim \|[^]*/m;

describe("the claims matrix", () => {
  // After a change of the claims: BUDGIE_WRITE_CLAIMS=1 node_modules/.bin/vitest run --project unit claims-table
  it("in docs/security.md says what the probes prove", () => {
    const text = readFileSync(page, "utf8");
    if (process.env["BUDGIE_WRITE_CLAIMS"] === "1")
      writeFileSync(
        page,
        text.replace(TABLE, () => toClaimsTable().trimEnd()),
      );

    expect(readFileSync(page, "utf8")).toContain(toClaimsTable());
    expect(text.match(/^\| Claim \|/gm)).toHaveLength(1);
  });

  it(
    "has a row for each test of the escape suite, and a test for each probe and each control of a row",
    { timeout: 120_000 },
    () => {
      const expected = Object.entries(CLAIM_GROUPS).flatMap(([group, claims]) =>
        claims.flatMap(({ id, probes, protections }) => [
          ...probes.map(({ name }) => `${toTestId(group, id)} > holds when an agent tries to ${name}`),
          `${toTestId(group, id)} > lets every probe through without ${protections.join(", ")}`,
        ]),
      );

      expect(listTests().toSorted()).toEqual(expected.toSorted());
    },
  );

  it("counts 60 probes at least", () => {
    expect(CLAIMS.flatMap(({ probes }) => probes).length).toBeGreaterThanOrEqual(60);
  });

  it("names every claim once, and each has protections and probes of different names", () => {
    expect(new Set(CLAIMS.map(({ id }) => id)).size).toBe(CLAIMS.length);
    for (const { id, probes, protections } of CLAIMS) {
      expect(protections.length, id).toBeGreaterThan(0);
      expect(probes.length, id).toBeGreaterThan(0);
      expect(new Set(probes.map(({ name }) => name)).size, id).toBe(probes.length);
    }
  });
});

/** All tests of the suite, as vitest collects them. */
function listTests(): readonly string[] {
  const vitest = join(checkout, "node_modules/.bin/vitest");
  const args = ["list", "--json", "--project", "docker-escape"];
  const text = execFileSync(vitest, args, { cwd: checkout, encoding: "utf8" });
  const tests = JSON.parse(text.slice(text.indexOf("["))) as readonly {
    readonly name: string;
    readonly file: string;
  }[];
  return tests.map(({ file, name }) => `${file.slice(file.lastIndexOf("/") + 1)} > ${name}`);
}
