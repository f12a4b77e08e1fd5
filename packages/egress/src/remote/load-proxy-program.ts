import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The proxy as a program for plain `node`: the files of a directory, and the one to start. */
export type ProxyProgram = {
  /** Relative path, with `/` */
  readonly entry: string;
  readonly files: readonly { readonly path: string; readonly content: Buffer }[];
};

type File = ProxyProgram["files"][number];

/** Loads the built proxy program and the libraries that it needs. */
export async function loadProxyProgram(): Promise<ProxyProgram> {
  if (existsSync(BUNDLED)) return { entry: "proxy-main.mjs", files: [await loadFile(BUNDLED, "proxy-main.mjs")] };
  const own = fileURLToPath(new URL("../..", import.meta.url));
  const core = findPackage("@budgie/core/egress", own);
  const limit = findPackage("p-limit", own);
  const files = await Promise.all([
    readFiles(own, (path) => path === "package.json" || isCodeIn("dist", path)),
    // Only the files of core that need none of its libraries.
    readFiles(core, (path) => ["package.json", "dist/egress.js", "dist/errors.js"].includes(path), "@budgie/core"),
    readFiles(findPackage("ipaddr.js", own), isPartOfPackage, "ipaddr.js"),
    readFiles(limit, isPartOfPackage, "p-limit"),
    readFiles(findPackage("yocto-queue", limit), isPartOfPackage, "yocto-queue"),
  ]);
  return { entry: "dist/proxy-main.js", files: files.flat() };
}

// budgie's bundle has the program as one file; this package does not.
const BUNDLED = fileURLToPath(new URL("../proxy-main.mjs", import.meta.url));

async function loadFile(file: string, path: string): Promise<File> {
  return { path, content: await readFile(file) };
}

async function readFiles(directory: string, isWanted: (path: string) => boolean, name?: string): Promise<File[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter(isWanted);
  const to = (path: string): string => (name === undefined ? path : `node_modules/${name}/${path}`);
  return Promise.all(paths.map((path) => loadFile(join(directory, path), to(path))));
}

function isPartOfPackage(path: string): boolean {
  return path === "package.json" || (/\.[cm]?js$/.test(path) && !path.includes("node_modules/"));
}

function isCodeIn(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`) && path.endsWith(".js");
}

/** Returns the directory of the package that an import from `directory` resolves to. */
function findPackage(specifier: string, directory: string): string {
  const file = createRequire(join(directory, "package.json")).resolve(specifier);
  const name = specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : specifier;
  const last = name.slice(name.lastIndexOf("/") + 1);
  let found = dirname(file);
  // A workspace package resolves through a symlink to a folder named after the last part of its name.
  while (!found.endsWith(`${sep}${last}`) && found !== dirname(found)) found = dirname(found);
  return found;
}
