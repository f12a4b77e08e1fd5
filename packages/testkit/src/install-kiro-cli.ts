import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { chmod, copyFile, cp, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { parseProfile, type Profile as KiroProfile } from "./kiro-cli/profile/settings.ts";

/** Path of this checkout's stand-in `kiro-cli`. It runs on this machine's Node, and needs a build. */
export const kiroCliPath = fileURLToPath(new URL("../bin/kiro-cli", import.meta.url));

const PROGRAM = fileURLToPath(new URL("../dist/bundle/kiro-cli/", import.meta.url));

/**
 * Copies the stand-in `kiro-cli` and its own Node into a folder. `COPY <folder>/ /usr/local/` then installs it in any image with
 * glibc, libstdc++ and `/bin/sh`. It has the given profile, unless `FAKE_KIRO_PROFILE` names another; default `v2`.
 */
export async function installKiroCli(targetDir: string, profile?: KiroProfile): Promise<void> {
  const library = join(targetDir, "lib", "kiro-cli");
  await mkdir(join(targetDir, "bin"), { recursive: true });
  await mkdir(library, { recursive: true });
  await cp(PROGRAM, library, { recursive: true });
  await copyModules(join(library, "node_modules"));
  await copyFile(process.execPath, join(library, "node"), constants.COPYFILE_FICLONE);
  await chmod(join(library, "node"), 0o755);
  const needsLibraries = await copySharedLibraries(join(library, "lib"));
  const launcher = join(targetDir, "bin", "kiro-cli");
  const lines = [
    ...(needsLibraries ? ['export LD_LIBRARY_PATH="$here/lib"'] : []),
    ...(profile === undefined ? [] : [`export FAKE_KIRO_PROFILE="\${FAKE_KIRO_PROFILE:-${profile}}"`]),
  ];
  await writeFile(launcher, toLauncher(lines));
  await chmod(launcher, 0o755);
}

// The files that the program loads of the modules outside its bundle, without their sources.
const MODULE_FILES: Readonly<Record<string, readonly string[]>> = {
  "better-sqlite3": ["package.json", "LICENSE", "lib", "build/Release/better_sqlite3.node"],
  bindings: ["package.json", "LICENSE.md", "bindings.js"],
  "file-uri-to-path": ["package.json", "LICENSE", "index.js"],
};

async function copyModules(modules: string): Promise<void> {
  for (const [name, files] of Object.entries(MODULE_FILES)) {
    const source = dirname(resolvePackage(name));
    for (const file of files) await cp(join(source, file), join(modules, name, file), { recursive: true });
  }
}

function resolvePackage(name: string): string {
  const fromHere = createRequire(import.meta.url);
  const fromSqlite = createRequire(fromHere.resolve("better-sqlite3/package.json"));
  const fromBindings = createRequire(fromSqlite.resolve("bindings/package.json"));
  const from = { bindings: fromSqlite, "file-uri-to-path": fromBindings }[name] ?? fromHere;
  return from.resolve(`${name}/package.json`);
}

// Libraries of glibc and the compiler, which every target image has. Two versions of them cannot be mixed.
const BASE_LIBRARIES = /^(?:linux-vdso|ld-linux.*|lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so/;

/** Copies the libraries that a distribution's Node is linked to; official builds need none. */
async function copySharedLibraries(folder: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)("ldd", [process.execPath]);
  const paths = [...stdout.matchAll(/=> (\/\S+)/g)].map(([, path = ""]) => path);
  const extra = paths.filter((path) => !BASE_LIBRARIES.test(basename(path)));
  if (extra.length === 0) return false;
  await mkdir(folder, { recursive: true });
  await Promise.all(extra.map((path) => copyFile(path, join(folder, basename(path)))));
  return true;
}

function toLauncher(lines: readonly string[]): string {
  return `#!/bin/sh
self=$0
[ -L "$self" ] && self=$(readlink -f -- "$self")
here=\${self%/*}/../lib/kiro-cli
${lines.map((line) => `${line}\n`).join("")}exec "$here/node" "$here/main.cjs" "$@"
`;
}

const [, script, targetDir, profile] = process.argv;
if (script !== undefined && pathToFileURL(script).href === import.meta.url) {
  if (targetDir === undefined) {
    console.error("Name the folder to install into: node install-kiro-cli.js TARGET_DIR [PROFILE]");
    process.exit(2);
  }
  await installKiroCli(targetDir, profile === undefined ? undefined : parseProfile(profile));
}
