import { expect, it } from "vitest";
import { addIgnoreFile, isIgnored, NO_RULES } from "../../src/rules/ignore-rules.ts";

const BUDGET = { spend: () => undefined };

it.each([
  ["*.o", "a/b.o", true],
  ["/a", "b/a", false],
  ["a/", "a", false],
  ["**/a", "x/y/a", true],
  ["**/?", "long", false],
  ["a/**/b", "a/b", true],
  ["a**/b", "a/x/b", true],
  ["*\n!b", "b", false],
  ["[[:digit:]]x", "1x", true],
  ["[a", "[a", false],
  ["\\#a", "#a", true],
  ["a\\ ", "a ", true],
  ["a  ", "a", true],
  ["\xEF\xBB\xBFa\r", "a", true],
])("%j ignores %s: %s", (text, path, expected) => {
  expect(isIgnored(addIgnoreFile(NO_RULES, "", text), { path, isFolder: false }, BUDGET)).toBe(expected);
});

it("A list with too many lines ignores everything", () => {
  const rules = addIgnoreFile(NO_RULES, "", "\n".repeat(30_000));

  expect(isIgnored(rules, { path: "a", isFolder: false }, BUDGET)).toBe(true);
});

it("A pattern takes no more steps than the product of its length and a name's", () => {
  let steps = 0;
  const rules = addIgnoreFile(NO_RULES, "", `${"*a".repeat(50)}b`);

  isIgnored(rules, { path: "a".repeat(255), isFolder: false }, { spend: (more) => void (steps += more) });

  expect(steps).toBeLessThan(102 * 255 + 10);
});
