import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CLAIM_GROUPS } from "@budgie/claims";
import { toTestId } from "./helpers/claims-list.ts";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));

describe("the claims matrix", () => {
  it("has a row for each test of the escape suite, and a test for each probe and control", { timeout: 120_000 }, () => {
    const expected = Object.entries(CLAIM_GROUPS).flatMap(([group, claims]) =>
      claims.flatMap(({ id, probes, protections }) => [
        ...probes.map(({ name }) => `${toTestId(group, id)} > holds when an agent tries to ${name}`),
        `${toTestId(group, id)} > lets every probe through without ${protections.join(", ")}`,
      ]),
    );

    expect(listTests().toSorted()).toEqual(expected.toSorted());
  });
});

/** Lists all tests of the suite, as vitest collects them. */
function listTests(): readonly string[] {
  const vitest = join(checkout, "node_modules/.bin/vitest");
  // One process that loads the sources once lists them in a third of the time.
  const args = ["list", "--json", "--project", "docker-escape", "--no-isolate", "--pool=threads"];
  const text = execFileSync(vitest, args, { cwd: checkout, encoding: "utf8" });
  const tests = JSON.parse(text.slice(text.indexOf("["))) as readonly {
    readonly name: string;
    readonly file: string;
  }[];
  return tests.map(({ file, name }) => `${file.slice(file.lastIndexOf("/") + 1)} > ${name}`);
}
