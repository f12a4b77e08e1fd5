// node write-code-caches.mjs MAIN [ARGUMENT...]: runs the bundle, and at its end writes beside each of its files what V8 made
// of it, if nothing is there.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createLoader, toCacheFile, toSums } from "../../packages/mcp-server/bin/load-bundle.js";

const { load, scripts } = createLoader();
process.once("exit", () => {
  for (const [file, script] of scripts) {
    if (existsSync(toCacheFile(file))) continue;
    const data = script.createCachedData();
    writeFileSync(toCacheFile(file), Buffer.concat([toSums(readFileSync(file), data), data]));
  }
});
// What follows the program's own name is its command line.
const [main] = process.argv.splice(2, 1);
load(main);
