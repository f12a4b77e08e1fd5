// node scripts/clean-dist.mjs: removes compiled files whose sources are gone, since packages contain all of dist.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));
const OUTPUT = /(?:\.js|\.d\.ts)(?:\.map)?$/;

for (const name of readdirSync(PACKAGES)) {
  const dist = join(PACKAGES, name, "dist");
  if (!existsSync(dist)) continue;
  for (const path of readdirSync(dist, { recursive: true })) {
    const source = join(PACKAGES, name, "src", path.replace(OUTPUT, ".ts"));
    if (OUTPUT.test(path) && !path.startsWith("bundle") && !existsSync(source)) rmSync(join(dist, path));
  }
}
