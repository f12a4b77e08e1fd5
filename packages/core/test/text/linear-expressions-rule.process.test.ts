import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

const PLANTED = {
  "begins-anew.ts": String.raw`export const line = /\r+\n/g;`,
  "spans-lines.ts": String.raw`export const denied = /^\s*Command (\S+) is/gm;`,
  "made-at-run-time.ts": 'export const made = new RegExp(["a", "b"].join("|"));',
  "of-node.ts": 'export { stripVTControlCharacters } from "node:util";',
  "linear.ts": String.raw`export const lines = /^[ \t]*Command (\S+) is|\r\n|[^\n]{0,80}x/gm;`,
};

describe("The lint rule", () => {
  it("refuses only expressions that are not linear or cannot be checked", { timeout: 60_000 }, async () => {
    const folder = createTemporaryFolder();
    for (const [name, code] of Object.entries(PLANTED)) writeFileSync(join(folder, name), `${code}\n`);

    const refused = await lint(folder);

    expect(refused).toEqual(["begins-anew.ts", "made-at-run-time.ts", "of-node.ts", "spans-lines.ts"]);
  });
});

/** Lints a folder, and lists the refused files. */
async function lint(folder: string): Promise<readonly string[]> {
  const argv = [join(ROOT, "node_modules/oxlint/bin/oxlint"), "-c", join(ROOT, ".oxlintrc.json"), "-f", "unix", folder];
  const said = await new Promise<string>((resolve) =>
    // The output suffices without the exit code.
    execFile(process.execPath, argv, { cwd: ROOT }, (_error, stdout) => resolve(stdout)),
  );
  const lines = said.split("\n").filter((line) => line.includes("budgie(linear-expressions)"));
  return [...new Set(lines.map((line) => basename(line.split(":")[0] ?? "")))].toSorted();
}
