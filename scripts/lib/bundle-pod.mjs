// node bundle-pod.mjs FILE: bundles the program of a Pod's sidecar and its libraries into one file.
import { fileURLToPath } from "node:url";
import { bundleProgram } from "./bundle-program.mjs";

const MAIN = fileURLToPath(new URL("../../packages/runner-kubernetes/dist/sidecar/pod-main.js", import.meta.url));
const [file] = process.argv.slice(2);

await bundleProgram(MAIN, { file, codeSplitting: false });
