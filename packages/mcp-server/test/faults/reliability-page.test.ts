import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FAULTS } from "./faults.ts";

it("docs/reliability.md has a row for each fault, and none besides", () => {
  const page = readFileSync(new URL("../../../../docs/reliability.md", import.meta.url), "utf8");
  const table = page.split("\n| fault |")[1]?.split("\n\n")[0] ?? "";
  const rows = [...table.matchAll(/^\| ([^|]+) \| [^|]+ \|$/gm)].map(([, name]) => name);

  expect(rows).toEqual(FAULTS.map(({ name }) => name));
});

it("the suite has 25 faults at least, each with a name of its own", () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
  expect(FAULTS.length).toBeGreaterThanOrEqual(25);
});
