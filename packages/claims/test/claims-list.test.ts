import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CLAIM_GROUPS, CLAIMS } from "@budgie/claims";
import { toClaimsList } from "./helpers/claims-list.ts";
import { ON_EACH_ENGINE } from "./helpers/on-each-engine.ts";
import { CONTAINER_REMOVALS } from "./helpers/remove-protections.ts";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const page = join(checkout, "docs/claims.md");
// The list is the end of the page.
const LIST = /^- `[^]*/m;

describe("the list of claims", () => {
  // After a change of the claims: BUDGIE_WRITE_CLAIMS=1 node_modules/.bin/vitest run --project unit claims-list
  it("in docs/claims.md is up to date", () => {
    const text = readFileSync(page, "utf8");
    if (process.env["BUDGIE_WRITE_CLAIMS"] === "1") writeFileSync(page, text.replace(LIST, toClaimsList));

    expect(LIST.exec(readFileSync(page, "utf8"))?.[0]).toBe(toClaimsList());
  });

  it("has at least 60 probes", () => {
    expect(CLAIMS.flatMap(({ probes }) => probes).length).toBeGreaterThanOrEqual(60);
  });

  it("has unique claims, each with protections and uniquely named probes", () => {
    expect(new Set(CLAIMS.map(({ id }) => id)).size).toBe(CLAIMS.length);
    for (const { id, probes, protections } of CLAIMS) {
      expect(protections.length, id).toBeGreaterThan(0);
      expect(probes.length, id).toBeGreaterThan(0);
      expect(new Set(probes.map(({ name }) => name)).size, id).toBe(probes.length);
    }
  });
});

describe("docs/security.md", () => {
  it("names the claims that are tried on the machine's own engine only", () => {
    const text = readFileSync(join(checkout, "docs/security.md"), "utf8");
    const named = [...(/own engine only: ([^.]*)\./.exec(text)?.[1] ?? "").matchAll(/`([\w-]+)`/g)].map(([, id]) => id);

    const left = CLAIMS.filter((claim) => !ON_EACH_ENGINE.includes(claim));
    expect(named.toSorted()).toEqual(left.map(({ id }) => id).toSorted());
  });

  it("leaves no claim to one engine that the engine enforces", () => {
    const left = CLAIMS.filter((claim) => !ON_EACH_ENGINE.includes(claim));

    const protections = left.flatMap((claim) => claim.protections);
    expect(protections.filter((protection) => protection in CONTAINER_REMOVALS)).toEqual([]);
  });
});

describe("the escape suite", () => {
  it("describes each group of claims in the file of its name, and no other", () => {
    const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
      .filter((file) => /^[\w-]+\/[\w-]+\.docker\.test\.ts$/.test(file))
      .map(
        (file) => [basename(file, ".docker.test.ts"), readFileSync(join(import.meta.dirname, file), "utf8")] as const,
      );
    const described = files.map(([, text]) => [...text.matchAll(/describeClaims\(CLAIM_GROUPS(?:\.|\[")([\w-]+)/g)]);

    expect(described.map((calls) => calls.map(([, group]) => group))).toEqual(files.map(([group]) => [group]));
    expect(files.map(([group]) => group).toSorted()).toEqual(Object.keys(CLAIM_GROUPS).toSorted());
  });
});
