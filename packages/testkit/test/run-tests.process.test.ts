import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import config from "../../../vitest.config.ts";

const script = fileURLToPath(new URL("../../../scripts/lib/run-tests.mjs", import.meta.url));

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "budgie-run-tests-"));
  mkdirSync(join(root, "flaky"));
  const test = { globals: true, include: ["**/*.test.ts"], testTimeout: 2_000 };
  writeFileSync(join(root, "vitest.config.mjs"), `export default ${JSON.stringify({ test })};`);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Writes a test file whose body runs with the number of its run, counted from 1. */
function write(path: string, body: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  const count = `const { appendFileSync, readFileSync } = await import("node:fs");
    appendFileSync(import.meta.filename + ".runs", "x");
    const run = readFileSync(import.meta.filename + ".runs").length;`;
  writeFileSync(file, `it("is what it says", async () => { ${count} ${body} });`);
}

const runsOf = (path: string): number => readFileSync(join(root, `${path}.runs`)).length;
const PASSES = "expect(run).toBeGreaterThan(0);";
const FLAKY = "expect(run).toBe(2);";
const FAILS = "expect(run).toBe(0);";
const CLAIM = "packages/claims/test/kernel/a.docker.test.ts";

type Ran = { readonly exitCode: number; readonly output: string; readonly flaky: readonly string[] };

function runTests(): Promise<Ran> {
  const flaky = join(root, "flaky");
  const env = { PATH: process.env["PATH"], HOME: root, BUDGIE_FLAKY: flaky, NO_COLOR: "1" };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [script, "run", "--root", root], { env }, (_error, stdout, stderr) => {
      const texts = readdirSync(flaky).map((name) => readFileSync(join(flaky, name), "utf8"));
      resolve({ exitCode: child.exitCode ?? 1, output: stdout + stderr, flaky: texts });
    });
  });
}

describe("run-tests", () => {
  it("runs a file that failed once more, alone, and keeps both outputs of a flaky one", async () => {
    write("a.test.ts", PASSES);
    write("b.test.ts", FLAKY);

    const { exitCode, flaky, output } = await runTests();

    expect({ exitCode, runs: [runsOf("a.test.ts"), runsOf("b.test.ts")] }).toEqual({ exitCode: 0, runs: [1, 2] });
    expect(output).toContain("b.test.ts is flaky");
    expect(flaky).toHaveLength(1);
    expect(flaky[0]).toMatch(/b\.test\.ts, first run\n[^]*expected 1 to be 2[^]*second run\n[^]*1 passed/);
  });

  it("fails if a file fails twice", async () => {
    write("a.test.ts", FAILS);

    const { exitCode, flaky, output } = await runTests();

    expect({ exitCode, flaky, runs: runsOf("a.test.ts") }).toEqual({ exitCode: 1, flaky: [], runs: 2 });
    expect(output).toContain("a.test.ts failed twice.");
  });

  it("never runs a claim again whose assertion failed", async () => {
    write(CLAIM, FLAKY);
    write("b.test.ts", FLAKY);

    const { exitCode, output } = await runTests();

    expect({ exitCode, runs: [runsOf(CLAIM), runsOf("b.test.ts")] }).toEqual({ exitCode: 1, runs: [1, 1] });
    expect(output).toContain(`${CLAIM} tests an attack or a fault, so it is not run again.`);
  });

  it.each([
    ["timed out", "if (run === 1) await new Promise(() => undefined);"],
    ["failed in its set-up", 'if (run === 1) throw Object.assign(new Error("no engine"), { code: "ECONNREFUSED" });'],
  ])("runs a claim again that %s", async (_what, body) => {
    write(CLAIM, body);

    const { exitCode, flaky } = await runTests();

    expect({ exitCode, runs: runsOf(CLAIM), flaky: flaky.length }).toEqual({ exitCode: 0, runs: 2, flaky: 1 });
  });
});

it("no test is retried by vitest itself, which would hide a flaky one", () => {
  expect(JSON.stringify(config)).not.toContain('"retry"');
});
