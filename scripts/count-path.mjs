#!/usr/bin/env node
// Counts what a reader of a turn's path meets, for docs/adr/0030: run after `npm run build`. Prints JSON.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countSources } from "./lib/count-sources.mjs";

// A step is a function without a name, in one of these files.
const STEP =
  /^(?:core (?:turn\/(?:(?:steps|reports)\/[^:]*|run\/walk-steps\.ts)|live\/[^:]*)|mcp-manager serving\/[^:]*|mcp-server (?:mcp\/long-calls|server)\/[^:]*):  at /;

const { callbacks, functions, packages, recordsWithDirectory, typesNamedSession, typesNamedTurn } = countSources(".");
const help = execFileSync("node", ["packages/cli/dist/main.js", "serve", "--help"], {
  encoding: "utf8",
  env: { ...process.env, COLUMNS: "100" },
});

console.log(
  JSON.stringify(
    {
      ...countFrames(),
      recordsWithDirectory: recordsWithDirectory.length,
      callbacks: callbacks.length,
      typesNamedTurn: typesNamedTurn.length,
      typesNamedSession: typesNamedSession.length,
      toFunctions: `${functions.filter((name) => /^to[A-Z]/.test(name)).length} of ${functions.length}`,
      wrappers: functions.filter((name) => /^with[A-Z]/.test(name)).length,
      options: help.match(/^ {2,6}(?:-\w, )?--\w/gm)?.length,
      helpLines: help.trimEnd().split("\n").length,
      packages,
    },
    undefined,
    2,
  ),
);

/** Counts the asynchronous functions between the MCP handler and the start of a container, as `one-call.process.test.ts` traces them. */
function countFrames() {
  const report = join(mkdtempSync(join(tmpdir(), "budgie-frames-")), "frames.json");
  execFileSync("node_modules/.bin/vitest", ["run", "--project", "process", "one-call"], {
    stdio: ["ignore", 2, 2],
    env: { ...process.env, BUDGIE_TEST_FRAMES_FILE: report },
  });
  const { frames } = JSON.parse(readFileSync(report, "utf8"));
  return { frames: frames.length, framesNotSteps: frames.filter((frame) => !STEP.test(frame)).length };
}
