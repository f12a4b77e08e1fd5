#!/usr/bin/env node
// scripts/set-version.mjs 0.2.0: sets the version of all packages, of their dependencies on each other, of server.json and of the
// lockfile.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const root = new URL("..", import.meta.url);
const [version] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version ?? "")) throw new Error("Expected a version, such as 0.2.0.");

const folders = readdirSync(new URL("packages", root)).map((name) => `packages/${name}`);
for (const folder of folders) edit(`${folder}/package.json`, setVersion);
edit("server.json", (server) => [server, ...server.packages].forEach((each) => (each.version = version)));
edit("package-lock.json", ({ packages }) => folders.forEach((folder) => setVersion(packages[folder])));

function setVersion(manifest) {
  manifest.version = version;
  for (const needed of [manifest.dependencies ?? {}, manifest.devDependencies ?? {}])
    for (const name of Object.keys(needed)) if (name.startsWith("@budgie/")) needed[name] = version;
}

function edit(path, change) {
  const file = new URL(path, root);
  const content = JSON.parse(readFileSync(file, "utf8"));
  change(content);
  writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
}
