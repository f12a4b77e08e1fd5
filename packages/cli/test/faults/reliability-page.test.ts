import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FAULTS } from "./faults.ts";

it("docs/reliability.md has exactly one line for each fault", () => {
  const page = readFileSync(new URL("../../../../docs/reliability.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^- ([^:]+): .+$/gm)].map(([, name]) => name);

  expect(rows).toEqual(FAULTS.map(({ name }) => name));
});

it("the suite has at least 25 faults, each with a unique name", () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
  expect(FAULTS.length).toBeGreaterThanOrEqual(25);
});
