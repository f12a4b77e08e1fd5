import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createTemporaryFolder } from "./helpers/temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

describe("The lint", () => {
  it.each([
    ["a quantifier that begins anew at each place", String.raw`export const line = /\r+\n/g;`],
    ["one that may span the lines that it is anchored to", String.raw`export const denied = /^\s*Command (\S+) is/gm;`],
    ["an expression that is made at run time", 'export const made = new RegExp(["a", "b"].join("|"));'],
    ["Node's own that is not linear", 'export { stripVTControlCharacters } from "node:util";'],
    [
      "Node's own, imported",
      'import { stripVTControlCharacters } from "node:util";\nexport const strip = stripVTControlCharacters;',
    ],
  ])("refuses %s", async (_what, code) => {
    expect(await lint(code)).toContain("budgie(linear-expressions)");
  });

  it("lets pass what is linear", async () => {
    const said = await lint(String.raw`export const lines = /^[ \t]*Command (\S+) is|\r\n|[^\n]{0,80}x/gm;`);

    expect(said).toContain("Found 0 warnings and 0 errors.");
  });
});

/** Has a file checked by the rules of this repository. */
function lint(code: string): Promise<string> {
  const file = join(createTemporaryFolder(), "planted.ts");
  writeFileSync(file, `${code}\n`);
  const argv = [join(ROOT, "node_modules/oxlint/bin/oxlint"), "-c", join(ROOT, ".oxlintrc.json"), file];
  // Its exit code says no more than its words.
  return new Promise((resolve) => execFile(process.execPath, argv, { cwd: ROOT }, (_error, stdout) => resolve(stdout)));
}
