import { expect, it } from "vitest";
import {
  findingLines,
  listSqliteFindings,
  withoutRepeats,
  type Finding,
} from "../../../src/commands/doctor/finding.ts";

const FINDING: Finding = { state: "note", what: "caller", text: "One two three four five six seven eight nine ten." };
const plain = (_: unknown, text: string): string => text;

it.each([
  [60, "note    caller     One two three four five six seven eight\n                   nine ten.\n"],
  [80, "note    caller     One two three four five six seven eight nine ten.\n"],
  [undefined, "note    caller     One two three four five six seven eight nine ten.\n"],
])("a finding is wrapped below itself in %s columns", (columns, lines) => {
  expect(findingLines([FINDING], plain, columns)).toBe(lines);
});

it("a missing SQLite comes with the command that installs it", () => {
  expect(listSqliteFindings(undefined)).toEqual([]);
  expect(listSqliteFindings("none works")).toMatchObject([
    {
      state: "failed",
      text: "none works",
      todo: expect.stringMatching(/^npm install -g budgie-mcp --include=optional /),
    },
  ]);
});

it("a missing SQLite is told once, and not as the fault of all that needs it", () => {
  const sqlite: Finding = { state: "failed", what: "sqlite", text: "SQLite is missing." };
  const needy = ["login", "egress"].map((what): Finding => ({ state: "failed", what, text: "budgie needs SQLite." }));

  expect(withoutRepeats([FINDING, ...needy, sqlite])).toEqual([FINDING, sqlite]);
  expect(withoutRepeats([FINDING, ...needy])).toEqual([FINDING, ...needy]);
});
