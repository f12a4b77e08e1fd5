#!/usr/bin/env node
// CommonJS, as the bundle is: Node starts it sooner than a module.
"use strict";
const { Console } = require("node:console");
const { existsSync, statSync } = require("node:fs");
const path = require("node:path");

const OF_NODE = new Set(["ExperimentalWarning", "DeprecationWarning"]);

// stdout belongs to JSON-RPC: what a library logs, be it while it loads, must not get between its lines.
globalThis.console = new Console({ stdout: process.stderr, stderr: process.stderr });

// Node's warnings of its own features, such as its SQLite, are no business of the user, who may ask for them by Node's options.
if (!/--trace-(?:warnings|deprecation)/.test(`${process.env.NODE_OPTIONS} ${process.execArgv.join(" ")}`)) {
  const listeners = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (!OF_NODE.has(warning.name)) for (const listener of listeners) listener.call(process, warning);
  });
}

const [major, minor] = process.versions.node.split(".").map(Number);
const inDist = (name) => path.join(__dirname, "../dist", name);
const bundle = inDist("bundle/main.cjs");

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`budgie: Node 20.19 or later is needed, and this is ${process.version}.\n`);
  process.exitCode = 1;
} else if (isCurrent(bundle)) {
  const { createLoader } = require("./load-bundle.js");
  createLoader().load(bundle);
} else if (existsSync(inDist("main.js"))) {
  void import("../dist/main.js");
} else {
  process.stderr.write('budgie: This checkout is not built. Run "npm run build" in it.\n');
  process.exitCode = 1;
}

/** A compiler that ran alone since then left newer files beside it. */
function isCurrent(file) {
  const timeOf = (place) => statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return timeOf(file) > 0 && timeOf(file) >= timeOf(inDist(".tsbuildinfo"));
}
