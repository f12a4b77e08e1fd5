// node bundle-pod.mjs FILE: bundles the program of a Pod's sidecar and its libraries into one file.
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const MAIN = fileURLToPath(new URL("../../packages/runner-kubernetes/dist/sidecar/pod-main.js", import.meta.url));
const [file] = process.argv.slice(2);

const build = await rolldown({ input: MAIN, platform: "node" });
await build.write({ file, format: "esm", codeSplitting: false });
await build.close();
