import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { countSources } from "../../../../scripts/lib/count-sources.mjs";

// The goals of ADR 30. Whoever needs one more looks first for the value that already carries it.
describe("what a reader of a turn's path meets", () => {
  const counted = countSources(fileURLToPath(new URL("../../../../", import.meta.url)));
  const wrappers = counted.functions.filter((name) => /^with[A-Z]/.test(name));

  it.each([
    ["records that declare `directory`", counted.recordsWithDirectory, 6],
    ["types named after turns", counted.typesNamedTurn, 15],
    ["types named after sessions", counted.typesNamedSession, 15],
    ["callbacks", counted.callbacks, 25],
    ["wrappers", wrappers, 41],
  ])("is a limited number of %s", (_what, found, most) => {
    expect(found.length, found.join("\n")).toBeLessThanOrEqual(most);
  });

  it("has a server that is thin", () => {
    // Code that knows nothing of MCP lies in core, or beside what it talks to.
    expect(counted.packages["mcp-server"]?.files).toBeLessThanOrEqual(110);
  });

  it("is few functions that convert", () => {
    const converting = counted.functions.filter((name) => /^to[A-Z]/.test(name));

    expect(converting.length / counted.functions.length).toBeLessThan(0.08);
  });
});
