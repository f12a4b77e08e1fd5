import { describe, expect, it } from "vitest";
import { lint } from "../helpers/lint.ts";

const PLANTED = {
  "begins-anew.ts": String.raw`export const line = /\r+\n/g;`,
  "spans-lines.ts": String.raw`export const denied = /^\s*Command (\S+) is/gm;`,
  "made-at-run-time.ts": 'export const made = new RegExp(["a", "b"].join("|"));',
  "of-node.ts": 'export { stripVTControlCharacters } from "node:util";',
  "linear.ts": String.raw`export const lines = /^[ \t]*Command (\S+) is|\r\n|[^\n]{0,80}x/gm;`,
};

describe("The lint rule", () => {
  it("refuses only expressions that are not linear or cannot be checked", { timeout: 60_000 }, async () => {
    const refused = await lint("budgie(linear-expressions)", PLANTED);

    expect(refused).toEqual(["begins-anew.ts", "made-at-run-time.ts", "of-node.ts", "spans-lines.ts"]);
  });
});
