import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createBell, type BellProcess } from "../../src/bell/create-bell.ts";

/** Creates a user whose bell starts nothing, and whose commands end when they are told to. */
function setUp(command: readonly string[], { graceMs = 1, written = "/nowhere" } = {}) {
  const home = mkdtempSync(join(tmpdir(), "budgie-bell-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  for (const folder of ["bin", "project"]) mkdirSync(join(home, folder));
  for (const program of ["bin/tell", "project/tell"]) writeFileSync(join(home, program), "", { mode: 0o755 });
  const reports: string[] = [];
  const started: BellProcess[] = [];
  const ends: ((fault?: string) => void)[] = [];
  const PATH = [relative(process.cwd(), join(home, "project")), join(home, "bin")].join(":");
  const env = { PATH, LANG: "C", SECRET: "canary", BUDGIE_HTTP_TOKEN: "canary" };
  const bell = createBell({
    command,
    graceMs,
    host: { env, home },
    report: (line) => void reports.push(line),
    trust: { findDirectory: (path) => (path.startsWith(join(home, written)) ? written : undefined) },
    start(process) {
      started.push(process);
      return new Promise((resolve) => ends.push(resolve));
    },
  });
  return { bell, ends, home, PATH, reports, started };
}

it("The command runs in the user's home with few variables, by its absolute path, and gets the facts on its stdin alone", () => {
  const { bell, home, PATH, started } = setUp(["tell", "--now"]);

  bell.ring("{}");

  const env = { PATH, LANG: "C", HOME: home };
  expect(started).toEqual([{ program: join(home, "bin/tell"), args: ["--now"], cwd: home, env, input: "{}\n" }]);
});

it("Four commands run at once; a fifth is left out, which is said once", async () => {
  const { bell, ends, reports, started } = setUp(["tell"]);

  for (let count = 0; count < 6; count += 1) bell.ring("{}");

  expect([started.length, reports]).toEqual([4, [expect.stringContaining("still runs 4 times")]]);
  ends[0]?.();
  await expect
    .poll(() => {
      bell.ring("{}");
      return started.length;
    })
    .toBe(5);
  expect(reports).toHaveLength(1);
});

it("A failure is said once", async () => {
  const { bell, ends, reports } = setUp(["tell"]);

  for (let count = 0; count < 2; count += 1) bell.ring("{}");
  for (const end of ends) end("it exited with 7");
  await bell.close();

  expect(reports).toEqual([expect.stringMatching(/^The command of "notify" failed: it exited with 7\. No turn fails/)]);
});

it("At its end budgie waits for a command a moment, and no longer", async () => {
  const { bell, reports } = setUp(["tell"]);
  bell.ring("{}");

  await bell.close();

  expect(reports).toEqual([]);
});

it.each([
  ["a program that is missing", ["no-such-program"], "/nowhere", 'there is no program "no-such-program"'],
  ["a program in a folder of a project alone", ["./tell"], "/nowhere", 'there is no program "./tell"'],
  ["a file that nobody may execute", ["./tell.txt"], "/nowhere", 'tell.txt" is no file that you may execute'],
  ["a folder", ["./bin"], "/nowhere", 'bin" is no file that you may execute'],
  ["a program that agents could write", ["tell"], "bin", 'bin/tell" lies in a directory where agents could write'],
  ["a link to such a program", ["./link"], "bin", 'bin/tell" lies in a directory where agents could write'],
  [
    "a file that agents could write",
    ["tell", "project/tell"],
    "project",
    'project/tell" lies in a directory where agents',
  ],
])("Nothing runs for %s, and that is said once", (_what, ...[command, written, trouble]) => {
  const { bell, home, reports, started } = setUp(command, { written });
  symlinkSync(join(home, "bin/tell"), join(home, "link"));
  writeFileSync(join(home, "tell.txt"), "");

  for (let count = 0; count < 2; count += 1) bell.ring("{}");

  expect([started, reports]).toEqual([[], [expect.stringContaining(trouble)]]);
});
