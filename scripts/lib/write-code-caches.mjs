// node write-code-caches.mjs MAIN [ARGUMENT...]: runs the bundle, and on exit writes V8's code cache beside each of its files that
// has none.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createLoader, toCacheFile, toSums } from "../../packages/cli/bin/load-bundle.js";

const { load, scripts } = createLoader();
process.once("exit", () => {
  for (const [file, script] of scripts) {
    if (existsSync(toCacheFile(file))) continue;
    const data = script.createCachedData();
    writeFileSync(toCacheFile(file), Buffer.concat([toSums(readFileSync(file), data), data]));
  }
});
// The program's own arguments must follow its name directly in argv.
const [main] = process.argv.splice(2, 1);
load(main);
