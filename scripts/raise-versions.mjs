#!/usr/bin/env node
// Raises the MCP clients, agents and servers that budgie is tested with to the newest versions that this machine's Node can run, with
// their lock files, and writes those versions into the pages and presets that name them. It needs npm, python3, Go, Rust and Maven.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readPart, readVersions, replaceVersion } from "./lib/tested-versions.mjs";

const HELD = {
  "@modelcontextprotocol/conformance": "0.1.13 is the last for Node 20, which it does not say",
  "@modelcontextprotocol/inspector": "1.0.3 is the last for Node 20",
  "conformance-next": "no tag names the newest of its line",
};
const PRESETS = "packages/cli/src/agents/agent-presets.ts";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const before = readVersions();
raiseNpm("interop");
raiseNpm("docker/programs");
raiseNpm("docker/programs/servers");
raisePython();
run("go", ["get", "github.com/modelcontextprotocol/go-sdk@latest"], "interop/go");
run("go", ["mod", "tidy"], "interop/go");
run("cargo", ["update"], "interop/rust");
raiseJava();
readVersions().forEach((to, index) => tell(to, before[index].version));

/** Raises what a package.json depends on, and its lock file, if it has one. */
function raiseNpm(folder) {
  const path = join(folder, "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  for (const needed of [manifest.dependencies, manifest.optionalDependencies ?? {}])
    for (const [name, pin] of Object.entries(needed)) needed[name] = toNewest(name, pin);
  writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
  if (run("git", ["ls-files", join(folder, "package-lock.json")]) === "") return;
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--omit-lockfile-registry-resolved"];
  run("npm", ["install", "--package-lock-only", ...quiet], folder);
}

function toNewest(name, pin) {
  if (name in HELD) return hold(name, pin, HELD[name]);
  const [, alias = "", program = name, old = pin] = /^(npm:(.+)@)(.+)$/.exec(pin) ?? [];
  // An alias such as sdk-1.29 stays in its line.
  const wanted = alias === "" ? program : `${program}@~${old}`;
  const { version, node, least } = look(wanted);
  if (least > Number.parseInt(process.versions.node)) return hold(name, pin, `${version} needs Node ${node}`);
  // A tag may name an older version than the pin.
  return version.localeCompare(old, "en", { numeric: true }) > 0 ? `${alias}${version}` : pin;
}

/** Asks npm for the newest version of a package, and for the least major version of Node that it needs. */
function look(wanted) {
  const newest = [JSON.parse(run("npm", ["view", wanted, "version", "engines.node", "--json"]))].flat().at(-1);
  const { version = newest, "engines.node": node = "" } = newest;
  return { version, node, least: Number(/^>=?(\d+)/.exec(node)?.[1] ?? 0) };
}

function hold(name, pin, why) {
  console.log(`  held ${name} ${pin}: ${why}`);
  return pin;
}

function raisePython() {
  const venv = mkdtempSync(join(tmpdir(), "budgie-raise-"));
  const pip = (...args) => run(join(venv, "bin/pip"), ["--disable-pip-version-check", "--quiet", ...args]);
  run("python3", ["-m", "venv", venv]);
  pip("install", "mcp");
  writeFileSync("interop/python/requirements.txt", `${pip("freeze")}\n`);
  rmSync(venv, { recursive: true });
}

function raiseJava() {
  const goal = "org.codehaus.mojo:versions-maven-plugin:2.18.0:use-latest-releases";
  const options = ["--batch-mode", "--quiet", "-DgenerateBackupPoms=false", "-Dmaven.version.ignore=.*-.*"];
  run("mvn", [goal, ...options], "interop/java");
}

/** Writes a version where another was told. What was tried by hand stays as it is. */
function tell(to, old) {
  if (to.version === old) return;
  const name = to.words.replaceAll("`", "").replace(/:$/, "");
  console.log(`  ok   ${name} ${old} -> ${to.version}`);
  const part = readPart(to.page);
  edit(to.page, part, replaceVersion(part, to, old) ?? part);
  edit(PRESETS, `${name}@${old}`, `${name}@${to.version}`);
}

function edit(path, from, to) {
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace(from, () => to),
  );
}

function run(command, args, cwd = ".") {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}
