import { beforeAll, describe, expect, it } from "vitest";
import { CLAIMS, prove, type ClaimResult } from "@budgie/claims";
import { isMoot } from "../src/probe/verdicts.ts";
import { NO_SANDBOX } from "./helpers/no-sandbox.ts";

// Attacks that only read this machine, or change what the lab itself made.
const BROKEN = [
  "own-kiro-files",
  "read-only-workspace",
  "own-definition",
  "protected-paths",
  "links-end-inside",
  "no-host-services",
];
const KEPT = ["plain-files", "named-directories", "allowed-roots", "only-tighter"];
const OF_ENGINE = CLAIMS.flatMap(({ id, isOfEngine }) => (isOfEngine ? [id] : []));

describe.skipIf(process.platform !== "linux")("the claims' lab with a runner that has no sandbox", () => {
  let results: ReadonlyMap<string, ClaimResult["probes"]>;

  beforeAll(async () => {
    const claims = CLAIMS.filter(({ id }) => [...BROKEN, ...KEPT, ...OF_ENGINE].includes(id));
    const proven = await prove({ target: NO_SANDBOX, claims });
    results = new Map(proven.map(({ id, probes }) => [id, probes]));
  });

  it.each(BROKEN)("finds that %s does not hold", (id) => {
    expect(results.get(id)?.map(({ verdict }) => verdict.outcome)).toContain("got-through");
  });

  it.each(KEPT)("finds that %s holds, which rests on budgie's own checks", (id) => {
    expect(results.get(id)?.filter(({ verdict }) => verdict.outcome !== "held")).toEqual([]);
  });

  it.each(OF_ENGINE)("finds nothing to attack for %s, which is about engines only", (id) => {
    expect(results.get(id)?.filter(({ verdict }) => !isMoot(verdict))).toEqual([]);
  });
});
