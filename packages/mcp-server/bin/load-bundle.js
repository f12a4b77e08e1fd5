import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";

/** Creates what loads the files of the bundle, each once. `scripts` has what was loaded, by file. */
export function createLoader() {
  const modules = new Map();
  const scripts = new Map();

  function load(file) {
    const known = modules.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(file, module);
    const script = compile(file);
    scripts.set(file, script);
    script.runInThisContext()(module.exports, toRequire(file), module, file);
    return module.exports;
  }

  /** Of the bundle's own files, and of what is not in it. */
  function toRequire(file) {
    const fromHere = createRequire(file);
    const own = (name) => (name.startsWith("./") ? load(join(dirname(file), name)) : fromHere(name));
    return Object.assign(own, { resolve: fromHere.resolve });
  }

  return { load, scripts };
}

/** Compiles a file with what this V8 made of it when it was built, without which that would be half of a start. */
export function compile(file) {
  const source = `(function (exports, require, module, __filename) {${readFileSync(file, "utf8")}\n})`;
  return new Script(source, { filename: file, cachedData: readCache(file) });
}

/** Where the code cache of a file is; what another V8 made is of no use. */
export function toCacheFile(file) {
  return `${file}.v8-${process.versions.v8}.cache`;
}

function readCache(file) {
  try {
    return readFileSync(toCacheFile(file));
  } catch {
    return undefined;
  }
}
