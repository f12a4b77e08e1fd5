// node run-tests.mjs run [--project NAME]... [FILE]...: runs vitest, and each test file that failed once more, alone.
//
// A file that fails twice fails the run. One that passes the second time is flaky: both outputs go to a file in the folder
// $BUDGIE_FLAKY, which the scripts print at their end, and more than three of them fail the run. An attack that got through once
// is not flaky: a claim or a fault is run again only if it timed out or its set-up failed.
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { toVerdict } from "./failed-tests.mjs";

const MOST_FLAKY = 3;
const vitest = resolve(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
const reporter = resolve(import.meta.dirname, "failed-tests.mjs");

const { values, positionals } = parseArgs({
  options: {
    project: { type: "string", multiple: true, default: [] },
    root: { type: "string" },
    "no-file-parallelism": { type: "boolean" },
  },
  allowPositionals: true,
});
const options = [
  ...(values.root === undefined ? [] : ["--root", values.root]),
  ...(values["no-file-parallelism"] ? ["--no-file-parallelism"] : []),
];
const own = mkdtempSync(join(tmpdir(), "budgie-tests-"));
const flaky = process.env.BUDGIE_FLAKY ?? join(own, "flaky");
process.exitCode = await main().finally(() => rmSync(own, { recursive: true }));

async function main() {
  const first = await runVitest([...positionals, ...values.project.flatMap((name) => ["--project", name]), ...options]);
  if (first.exitCode === 0) return 0;
  const verdict = toVerdict(first.report, MOST_FLAKY - countFlaky());
  if (verdict.why !== undefined) return fail(verdict.why);
  for (const file of verdict.again) {
    say(`${file.path} failed, and is run once more, alone:`);
    const project = file.project === "" ? [] : ["--project", file.project];
    const second = await runVitest(["run", ...project, ...options, file.path]);
    if (second.exitCode !== 0) return fail(`${file.path} failed twice.`);
    record(file, second.output);
  }
  return 0;
}

/** Runs vitest. The report is `undefined` if it ended before its tests did. */
async function runVitest(args) {
  const path = join(own, `report-${process.hrtime.bigint()}.json`);
  const child = spawn(process.execPath, [vitest, ...args, "--reporter=default", `--reporter=${reporter}`], {
    stdio: ["ignore", "pipe", "pipe"],
    // Each Node that the tests start would read these certificates first, for 60 ms. No test fetches anything with Node.
    env: { ...process.env, BUDGIE_FAILED_TESTS: path, NODE_EXTRA_CA_CERTS: undefined },
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  const printed = [];
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    from.on("data", (chunk) => {
      printed.push(chunk);
      to.write(chunk);
    });
  }
  const exitCode = await new Promise((done) => child.on("close", (code) => done(code ?? 1)));
  return { exitCode, output: Buffer.concat(printed).toString(), report: readReport(path) };
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function countFlaky() {
  return process.env.BUDGIE_FLAKY === undefined ? 0 : readdirSync(flaky).length;
}

function record({ path, failures }, output) {
  say(`${path} is flaky: it failed, and passed when it ran alone.`);
  if (process.env.BUDGIE_FLAKY === undefined) return;
  const first = failures.map(({ title, text }) => `${title}\n${text}`).join("\n");
  const file = join(flaky, `${String(countFlaky()).padStart(3, "0")}-${process.pid}`);
  writeFileSync(file, `--- ${path}, first run\n${first}\n`);
  appendFileSync(file, `--- ${path}, second run\n${output.trim()}\n`);
}

function fail(why) {
  say(why);
  return 1;
}

function say(line) {
  console.error(`\nrun-tests: ${line}`);
}
