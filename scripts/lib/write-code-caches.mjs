// node write-code-caches.mjs MAIN: runs the bundle, and at its end writes beside each of its files what V8 made of it.
import { writeFileSync } from "node:fs";
import { createLoader, toCacheFile } from "../../packages/mcp-server/bin/load-bundle.js";

const { load, scripts } = createLoader();
process.once("exit", () => {
  for (const [file, script] of scripts) writeFileSync(toCacheFile(file), script.createCachedData());
});
// What follows the program's own name is its command line.
const [main] = process.argv.splice(2, 1);
load(main);
