// node scripts/bundle-testkit.mjs: bundles the programs of the test kit that tests start by the hundred, since each takes up to twice as
// long to start from many files. Does only what is missing.
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleProgram, isCurrent } from "./lib/bundle-program.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "packages/testkit/dist");
const SOURCES = [
  join(DIST, ".tsbuildinfo"),
  join(ROOT, "package-lock.json"),
  ...["scripts/bundle-testkit.mjs", "scripts/lib/bundle-program.mjs"].map((file) => join(ROOT, file)),
];

for (const program of ["kiro-cli/main", "mcp/mock-stdio"]) {
  const made = join(DIST, "bundle", `${program}.cjs`);
  if (isCurrent(made, SOURCES)) continue;
  const dir = dirname(made);
  rmSync(dir, { recursive: true, force: true });
  // Puts what a command does not need into files of its own.
  const names = { entryFileNames: "[name].cjs", chunkFileNames: "[name]-[hash].cjs" };
  await bundleProgram(join(DIST, `${program}.js`), { dir, ...names });
}
