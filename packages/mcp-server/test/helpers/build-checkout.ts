import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Before all tests: budgie and the stand-in for kiro-cli run as programs, and so need a build. */
export function setup(): void {
  // A type error is said, and is the checks' matter: what was compiled runs all the same.
  for (const args of [["node_modules/typescript/bin/tsc", "-b"], ["scripts/bundle.mjs"]]) {
    spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  }
}
