import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Builds budgie and the stand-in for kiro-cli before all tests, since they run as programs, unless `scripts/test` has. */
export function setup(): void {
  if (process.env["BUDGIE_IS_SET_UP"] !== undefined) return;
  // A type error is printed and left to the checks: the compiled code runs anyway.
  for (const args of [
    ["node_modules/typescript/bin/tsc", "-b"],
    ["scripts/bundle-testkit.mjs"],
    ["scripts/bundle.mjs"],
  ]) {
    spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  }
}
