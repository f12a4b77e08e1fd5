#!/usr/bin/env node
import { existsSync } from "node:fs";

const [major, minor] = process.versions.node.split(".").map(Number);
const program = new URL("../dist/main.js", import.meta.url);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`budgie: Node 20.19 or later is needed, and this is ${process.version}.\n`);
  process.exitCode = 1;
} else if (!existsSync(program)) {
  process.stderr.write('budgie: This checkout is not built. Run "npm run build" in it.\n');
  process.exitCode = 1;
} else {
  await import(program.href);
}
