import childProcess, { ChildProcess } from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, afterEach, expect } from "vitest";

const SYNCHRONOUS = ["execFileSync", "execSync", "spawnSync"] as const;

// Counts attempts, since a test that expects a program to fail would pass.
let attempts = 0;

/** Makes every start of a process throw in this worker, and fails the test that tried. */
for (const name of SYNCHRONOUS) childProcess[name] = refuse;
// All asynchronous starts go through this, even those of libraries.
Object.defineProperty(ChildProcess.prototype, "spawn", { value: refuse, configurable: true });
syncBuiltinESMExports();

afterEach(expectNoAttempt);
afterAll(expectNoAttempt);

function refuse(): never {
  attempts++;
  throw new Error("Unit tests start no process. Give this test file the ending .process.test.ts.");
}

function expectNoAttempt(): void {
  const made = attempts;
  attempts = 0;
  expect(made, "attempts to start a process").toBe(0);
}
