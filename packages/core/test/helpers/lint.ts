import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTemporaryFolder } from "./temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** Lints files of this code, and lists those that a rule refuses. */
export async function lint(rule: string, files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const folder = createTemporaryFolder();
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), `${code}\n`);
  const argv = [join(ROOT, "node_modules/oxlint/bin/oxlint"), "-c", join(ROOT, ".oxlintrc.json"), "-f", "unix", folder];
  const said = await new Promise<string>((resolve) =>
    // The output suffices without the exit code.
    execFile(process.execPath, argv, { cwd: ROOT }, (_error, stdout) => resolve(stdout)),
  );
  const lines = said.split("\n").filter((line) => line.includes(rule));
  return [...new Set(lines.map((line) => basename(line.split(":")[0] ?? "")))].toSorted();
}
