// node bundle-pod.mjs FILE: bundles the program of a Pod's sidecar and its libraries into one file.
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const MAIN = fileURLToPath(new URL("../../packages/runner-kubernetes/dist/sidecar/pod-main.js", import.meta.url));
const [file] = process.argv.slice(2);

// The package's build for `require` is UMD, whose imports a bundler cannot follow.
const alias = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" };

const build = await rolldown({ input: MAIN, platform: "node", resolve: { alias } });
await build.write({ file, format: "cjs", codeSplitting: false });
await build.close();
