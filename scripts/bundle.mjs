// node scripts/bundle.mjs: makes of budgie and its libraries the few files that bin/budgie.js runs, and of those what V8 needs
// to start them quickly. docs/adr/0011 has the reasons.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { toCacheFile } from "../packages/mcp-server/bin/load-bundle.js";
import { answerAsEngine } from "./lib/answer-as-engine.mjs";
import { toStartMessages } from "./lib/start-messages.mjs";

const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));
const DIST = join(PACKAGES, "mcp-server", "dist");
const TARGET = join(DIST, "bundle");
const MAIN = "main.cjs";
const WARM_UP = fileURLToPath(new URL("lib/write-code-caches.mjs", import.meta.url));
const LOADER = fileURLToPath(new URL("../packages/mcp-server/bin/load-bundle.js", import.meta.url));
const LIBRARIES = fileURLToPath(new URL("../package-lock.json", import.meta.url));
const ENGINE = fileURLToPath(new URL("lib/answer-as-engine.mjs", import.meta.url));
const SOURCES = [join(DIST, ".tsbuildinfo"), LIBRARIES, LOADER, WARM_UP, ENGINE, fileURLToPath(import.meta.url)];
// One has native code, and the other files that it looks for beside it.
const EXTERNAL = ["better-sqlite3", "dockerode"];
// What it is for `require` hides from a bundler which files it needs.
const ALIASES = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" };
const LIMIT_MS = 60_000;

if (!isCurrent()) await makeBundle();

/** Made by this Node from what there is; the compiler leaves a new date in its file when it has written anything. */
function isCurrent() {
  const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const made = timeOf(toCacheFile(join(TARGET, MAIN)));
  return SOURCES.every((file) => timeOf(file) <= made);
}

/** Beside the old one, which may be running. */
async function makeBundle() {
  const folder = await mkdtemp(`${TARGET}-`);
  try {
    await bundle(folder);
    await writeCodeCaches(join(folder, MAIN));
    // Others than who builds run it too.
    await chmod(folder, 0o755);
    await rm(TARGET, { recursive: true, force: true });
    await rename(folder, TARGET);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bundle(folder) {
  const build = await rolldown({
    input: join(DIST, "main.js"),
    platform: "node",
    external: EXTERNAL,
    resolve: { alias: ALIASES },
    plugins: [keepPlaces(), keepOwners()],
  });
  // Names and lines stay, for who reads a stack.
  await build.write({
    dir: folder,
    format: "cjs",
    dynamicImportInCjs: false,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name]-[hash].cjs",
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: false } },
  });
  await build.close();
}

/** Modules find files by where they are themselves: there they stay, as far as they are told. */
function keepPlaces() {
  return {
    name: "keep-places",
    transform(code, id) {
      if (!id.startsWith(PACKAGES) || !code.includes("import.meta.url")) return null;
      const [name, , ...path] = relative(PACKAGES, id).split(sep);
      const base = name === "mcp-server" ? `__filename` : `require.resolve("@budgie/${name}")`;
      const place = name === "mcp-server" ? `../${path.join("/")}` : `./${path.join("/")}`;
      const url = `new URL(${JSON.stringify(place)}, require("node:url").pathToFileURL(${base})).href`;
      return code.replaceAll("import.meta.url", `(${url})`);
    },
  };
}

/** What is not bundled is looked for from the package that needs it: others, budgie itself among them, need not find it. */
function keepOwners() {
  return {
    name: "keep-owners",
    transform(code, id) {
      if (!id.startsWith(PACKAGES)) return null;
      const [owner] = relative(PACKAGES, id).split(sep);
      const fromOwner = `require("node:module").createRequire(require.resolve("@budgie/${owner}"))`;
      return EXTERNAL.reduce(
        (text, name) =>
          text.replaceAll(`import("${name}")`, `Promise.resolve().then(() => ({ default: ${fromOwner}("${name}") }))`),
        code,
      );
    },
  };
}

/** Two starts as a client makes them, in an empty home, after which V8 knows which functions are needed. */
async function writeCodeCaches(program) {
  const home = await mkdtemp(join(tmpdir(), "budgie-bundle-"));
  const socket = join(home, "engine.sock");
  const engine = await answerAsEngine(socket);
  try {
    const agents = join(home, ".kiro", "agents");
    await mkdir(agents, { recursive: true });
    const agent = { name: "one", description: "sub-agent: One.", allowedTools: ["fs_read", "fs_write"] };
    await writeFile(join(agents, "one.json"), JSON.stringify(agent));
    await start({ program, home, socket, flags: [] });
    // What the first start has left a cache of keeps it.
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
