// node scripts/bundle.mjs: bundles budgie and its libraries into the few files that bin/budgie.js runs, with V8 code caches for a
// quick start, and puts beside them the files that they read. See docs/adr/0011 and 0018.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { toCacheFile } from "../packages/cli/bin/load-bundle.js";
import { answerAsEngine } from "./lib/answer-as-engine.mjs";
import { ALIASES, EXTERNAL, isCurrent } from "./lib/bundle-program.mjs";
import { toLicenses } from "./lib/licenses.mjs";
import { toStartMessages } from "./lib/start-messages.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGES = join(ROOT, "packages");
const DIST = join(PACKAGES, "cli", "dist");
const TARGET = join(DIST, "bundle");
const MAIN = "main.cjs";
const WARM_UP = fileURLToPath(new URL("lib/write-code-caches.mjs", import.meta.url));

// Files that are read or started at run time lie in the bundle as they do in the checkout's `packages`.
const FILES = {
  "packages/runner-docker/forwarder/linux-amd64": "runner-docker/forwarder/linux-amd64",
  "packages/runner-docker/forwarder/linux-arm64": "runner-docker/forwarder/linux-arm64",
  // Not its symlink, which npm leaves out of packages
  "Dockerfile.sandbox": "sandbox-image/Dockerfile.sandbox",
  "docker/entrypoint.sh": "sandbox-image/docker/entrypoint.sh",
  // Files of the image that "budgie image push" builds
  "docker/kubernetes/Dockerfile": "pod-image/Dockerfile",
  "packages/runner-kubernetes/hold/linux-amd64": "pod-image/hold/linux-amd64",
  "packages/runner-kubernetes/hold/linux-arm64": "pod-image/hold/linux-arm64",
  "packages/runner-kubernetes/hold/profile-amd64.bpf": "pod-image/hold/profile-amd64.bpf",
  "packages/runner-kubernetes/hold/profile-arm64.bpf": "pod-image/hold/profile-arm64.bpf",
};
const PROGRAMS = {
  "copies/dist/diffs/diff-worker-main.js": "copies/dist/diffs/diff-worker-main.js",
  "sandbox/dist/login/copy-database-main.js": "sandbox/dist/login/copy-database-main.js",
  "egress/dist/proxy-main.js": "egress/dist/proxy-main.mjs",
  "runner-kubernetes/dist/sidecar/pod-main.js": "pod-image/pod.cjs",
};
// Loaded late and synchronously by `require`, so each is in a file of its own.
const LATE = ["dockerode", "yaml"];
// Dockerode needs them for SSH and for BuildKit's sessions, which budgie never uses.
const LEFT_OUT = ["@grpc/grpc-js", "@grpc/proto-loader", "protobufjs", "ssh2"];
// The SDK's server imports it for the answers to elicitation, which budgie never uses; a tenth of a start.
const VALIDATOR = "/@modelcontextprotocol/sdk/dist/esm/validation/ajv-provider.js";
const SOURCES = [
  ...readdirSync(PACKAGES).map((name) => join(PACKAGES, name, "dist/.tsbuildinfo")),
  ...Object.keys(FILES).map((file) => join(ROOT, file)),
  ...["package-lock.json", "packages/cli/bin/load-bundle.js", "scripts/bundle.mjs"].map((file) => join(ROOT, file)),
  ...["answer-as-engine", "bundle-program", "licenses", "write-code-caches"].map((name) =>
    join(ROOT, `scripts/lib/${name}.mjs`),
  ),
];
const LIMIT_MS = 60_000;

// The compiler updates its build info whenever it writes output.
if (!isCurrent(toCacheFile(join(TARGET, MAIN)), SOURCES)) await makeBundle();

/** Builds beside the old bundle, which may be in use, and then replaces it. */
async function makeBundle() {
  const folder = await mkdtemp(`${TARGET}-`);
  try {
    const modules = [...(await bundleMain(folder)), ...(await bundleLate(folder)), ...(await bundlePrograms(folder))];
    for (const [from, to] of Object.entries(FILES)) await cp(join(ROOT, from), join(folder, to));
    await writeFile(join(folder, "THIRD-PARTY-LICENSES"), toLicenses(modules));
    await writeCodeCaches(join(folder, MAIN));
    // Other users than the builder run it too.
    await chmod(folder, 0o755);
    await rm(TARGET, { recursive: true, force: true });
    await rename(folder, TARGET);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function bundleMain(folder) {
  const input = {
    input: join(DIST, "main.js"),
    external: [...EXTERNAL, ...LATE],
    resolve: { alias: ALIASES },
    plugins: [keepPlaces(), requireLate(), leaveOutValidator()],
  };
  return write(input, {
    dir: folder,
    format: "cjs",
    dynamicImportInCjs: false,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name]-[hash].cjs",
    // Nearly all of core is loaded at a start, and would be many small files.
    codeSplitting: { groups: [{ name: "core", test: /[\\/]packages[\\/]core[\\/]dist[\\/]/ }] },
    paths: Object.fromEntries(LATE.map((name) => [name, `./${name}.cjs`])),
  });
}

/** Bundles the libraries that are loaded late, each into one file. */
async function bundleLate(folder) {
  const modules = [];
  for (const name of LATE) {
    const input = { input: fileURLToPath(import.meta.resolve(name)), plugins: [leaveOut()] };
    modules.push(...(await write(input, { file: join(folder, `${name}.cjs`), format: "cjs" })));
  }
  return modules;
}

/** Bundles the programs that run as processes of their own, each into one file. */
async function bundlePrograms(folder) {
  const modules = [];
  for (const [from, to] of Object.entries(PROGRAMS)) {
    const output = { file: join(folder, to), format: to.endsWith(".cjs") ? "cjs" : "esm", codeSplitting: false };
    const input = { input: join(PACKAGES, from), external: EXTERNAL, resolve: { alias: ALIASES } };
    modules.push(...(await write(input, output)));
  }
  return modules;
}

/** Writes a bundle, and returns the files that it was built from. Names and lines are kept for readable stack traces. */
async function write(input, output) {
  const build = await rolldown({ ...input, platform: "node" });
  const minify = { compress: true, mangle: false, codegen: { removeWhitespace: false } };
  const { output: chunks } = await build.write({ ...output, minify });
  await build.close();
  const folder = output.dir ?? dirname(output.file);
  for (const { code, fileName } of chunks) await writeFile(join(folder, fileName), toAscii(code));
  return chunks.flatMap(({ moduleIds }) => moduleIds ?? []);
}

/** Escapes what is not ASCII, so that the loader reads a file without decoding it, and V8 keeps one byte a character instead of two. */
function toAscii(code) {
  const [raw] = /\.raw`[^`]*[\u0080-\uffff]/.exec(code) ?? [];
  if (raw !== undefined) throw new Error(`An escape would change this raw template: ${raw}`);
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Creates a plugin that gives each module the `import.meta.url` by which it finds files. */
function keepPlaces() {
  return {
    name: "keep-places",
    transform(code, id) {
      if (!id.startsWith(PACKAGES) || !code.includes("import.meta.url")) return null;
      const path = relative(PACKAGES, id).split(sep).join("/");
      const place = path.replace(/^(?:cli|mcp-server)\/dist\//, "../");
      const url = `new URL(${JSON.stringify(place)}, require("node:url").pathToFileURL(__filename)).href`;
      return code.replaceAll("import.meta.url", `(${url})`);
    },
  };
}

/** Creates a plugin that loads each late library from its file in the bundle. */
function requireLate() {
  const call = new RegExp(`createRequire\\(.+\\)\\("(${LATE.join("|")})"\\)`);
  return {
    name: "require-late",
    transform(code, id) {
      if (!id.startsWith(PACKAGES)) return null;
      return code.replace(call, `require("$1")`);
    },
  };
}

/** Creates a plugin that leaves out the SDK's validator, which budgie replaces with its own. */
function leaveOutValidator() {
  return {
    name: "leave-out-validator",
    load: (id) =>
      id.split(sep).join("/").endsWith(VALIDATOR) ? "export const AjvJsonSchemaValidator = undefined;" : null,
  };
}

/** Creates a plugin that puts an empty module in place of each library that is left out. */
function leaveOut() {
  return {
    name: "leave-out",
    resolveId: (id) => (LEFT_OUT.includes(id) ? `\0${id}` : null),
    load: (id) => (id.startsWith("\0") && LEFT_OUT.includes(id.slice(1)) ? "module.exports = {};" : null),
  };
}

/** Writes code caches after two starts like a client's, in an empty home, so that V8 has compiled the functions they need. */
async function writeCodeCaches(program) {
  const home = await mkdtemp(join(tmpdir(), "budgie-bundle-"));
  const socket = join(home, "engine.sock");
  const engine = await answerAsEngine(socket);
  try {
    const agents = join(home, ".kiro", "agents");
    await mkdir(agents, { recursive: true });
    const agent = { name: "one", description: "sub-agent: One.", allowedTools: ["fs_read", "fs_write"] };
    await writeFile(join(agents, "one.json"), JSON.stringify(agent));
    const prompts = join(home, ".kiro", "sub-agents", "prompts");
    await mkdir(prompts, { recursive: true });
    await writeFile(join(prompts, "one.md"), "---\ndescription: One.\ncapabilities:\n  - Reads\n---\n");
    await start({ program, home, socket, flags: [] });
    // The second start keeps the caches that the first has written.
    await start({ program, home, socket, flags: ["--sandbox"] });
  } finally {
    await engine.close();
    await rm(home, { recursive: true, force: true });
  }
}

async function start({ program, home, socket, flags }) {
  const child = spawn(process.execPath, [WARM_UP, program, ...flags], {
    env: { PATH: process.env.PATH, HOME: home, DOCKER_HOST: `unix://${socket}`, BUDGIE_ALLOW_ROOT: home },
    stdio: ["pipe", "pipe", "pipe"],
    timeout: LIMIT_MS,
  });
  const ended = once(child, "exit");
  const errors = text(child.stderr);
  child.stdin.on("error", () => undefined);
  child.stdin.write(toStartMessages());
  for await (const line of createInterface({ input: child.stdout })) {
    if (JSON.parse(line).id === 2) child.stdin.end();
  }
  const [exitCode] = await ended;
  if (exitCode !== 0) throw new Error(`The bundle ended with exit code ${exitCode}: ${await errors}`);
}
