// node scripts/bundle.mjs: bundles budgie and its libraries into the few files that bin/budgie.js runs, with V8 code caches for a
// quick start. See docs/adr/0011.
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
// better-sqlite3 has native code; dockerode loads files beside its own.
const EXTERNAL = ["better-sqlite3", "dockerode"];
// The package's build for `require` is UMD, whose imports a bundler cannot follow.
const ALIASES = { "jsonc-parser": "jsonc-parser/lib/esm/main.js" };
const LIMIT_MS = 60_000;

if (!isCurrent()) await makeBundle();

/** Tells whether this Node's code cache is newer than all sources. The compiler updates its build info whenever it writes output. */
function isCurrent() {
  const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const made = timeOf(toCacheFile(join(TARGET, MAIN)));
  return SOURCES.every((file) => timeOf(file) <= made);
}

/** Builds beside the old bundle, which may be in use, and then replaces it. */
async function makeBundle() {
  const folder = await mkdtemp(`${TARGET}-`);
  try {
    await bundle(folder);
    await writeCodeCaches(join(folder, MAIN));
    // Other users than the builder run it too.
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
  // Names and lines are kept for readable stack traces.
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

/** Creates a plugin that keeps each module's `import.meta.url`, by which it finds files. */
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

/** Creates a plugin that resolves external packages from the package that needs them, because others may not find them. */
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
