"use strict";
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const { Script } = require("node:vm");
const { crc32 } = require("node:zlib");

exports.createLoader = createLoader;
exports.compile = compile;
exports.toCacheFile = toCacheFile;
exports.toSums = toSums;

/** Creates what loads the files of the bundle, each once. `scripts` has what was loaded, by file. */
function createLoader() {
  const modules = new Map();
  const scripts = new Map();
  const required = new Map();

  function load(file) {
    const known = modules.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(file, module);
    try {
      const script = compile(file);
      scripts.set(file, script);
      script.runInThisContext()(module.exports, toRequire(file), module, file);
      return module.exports;
    } catch (error) {
      // Half of it would be taken for all by who asks next.
      modules.delete(file);
      throw error;
    }
  }

  /** Returns the `require` of one of the bundle's files, which finds its other files, and what is not in it. */
  function toRequire(file) {
    const folder = path.dirname(file);
    // Files of one folder find the same.
    const fromHere = required.get(folder) ?? createRequire(file);
    required.set(folder, fromHere);
    const own = (name) => (name.startsWith("./") ? load(path.join(folder, name)) : fromHere(name));
    return Object.assign(own, { resolve: fromHere.resolve });
  }

  return { load, scripts };
}

/** Compiles a file with what this V8 made of it when it was built, without which that would be half of a start. */
function compile(file) {
  const text = readOwn(file);
  // The bundle is ASCII, which this decodes the fastest.
  const source = `(function (exports, require, module, __filename) {${text.toString("latin1")}\n})`;
  return new Script(source, { filename: toShownName(file), cachedData: readCache(file, text) });
}

function readOwn(file) {
  try {
    return readFileSync(file);
  } catch (cause) {
    if (cause.code !== "ENOENT") throw cause;
    throw new Error(`A file of budgie's own is gone, as after an update while it ran: "${file}". Restart budgie.`, {
      cause,
    });
  }
}

/** As stacks have it. V8 takes it from the cache, and a path would be one of who built it. */
function toShownName(file) {
  return `budgie-mcp/dist/bundle/${path.basename(file)}`;
}

/** Where the code cache of a file is; what another V8 or machine made is of no use. */
function toCacheFile(file) {
  return `${file}.v8-${process.versions.v8}-${process.platform}-${process.arch}.cache`;
}

/** Returns the checksums by which a cache is known to be whole, and of this very text: V8 only compares how long both are. */
function toSums(text, data) {
  const sums = Buffer.alloc(SUMS_BYTES);
  sums.writeUInt32LE(crc32(text), 0);
  sums.writeUInt32LE(crc32(data), 4);
  return sums;
}

const SUMS_BYTES = 8;

function readCache(file, text) {
  try {
    const cache = readFileSync(toCacheFile(file));
    const data = cache.subarray(SUMS_BYTES);
    return toSums(text, data).equals(cache.subarray(0, SUMS_BYTES)) ? data : undefined;
  } catch {
    return undefined;
  }
}
