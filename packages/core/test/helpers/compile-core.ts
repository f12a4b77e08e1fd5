import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTemporaryFolder } from "./temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** Compiles core into a temporary folder, since a child process of Node 20 cannot read TypeScript. */
export function compileCore(): string {
  const folder = createTemporaryFolder();
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const project = join(ROOT, "packages", "core");
  const buildInfo = join(folder, "tsbuildinfo");
  execFileSync(process.execPath, [tsc, "-p", project, "--outDir", folder, "--tsBuildInfoFile", buildInfo]);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}
