import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kiroCliPath } from "@budgie/testkit";
import { inspectKiro, listHarnesses, type Print } from "../../../src/kiro/help/inspect-kiro.ts";

const execute = promisify(execFile);

/** Creates a print of this machine with these variables. */
function printWith(env: Readonly<Record<string, string>>): Print {
  const { PATH = "" } = process.env;
  return async ([file, ...args]) => {
    const ran = execute(file, args, { env: { PATH, ...env } });
    return (await ran.catch((error: { stdout: string }) => error)).stdout;
  };
}

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "budgie-runtime-")));
  for (const name of ["empty", "full", "full/node"]) mkdirSync(join(folder, name));
  symlinkSync("/usr", join(folder, "link"));
  writeFileSync(join(folder, "kiro-cli"), "#!/bin/sh\necho Usage\n", { mode: 0o755 });
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("inspectKiro", () => {
  it.each([
    ["q1", "1.22.0", ["V2"]],
    ["v2", "2.12.0", ["V2"]],
    ["v2late", "2.37.0", ["V2", "V3"]],
    ["v3", "3.2.0", ["V2", "V3"]],
  ])(
    "finds, of the stand-in's profile %s, the version %s and the harnesses %j",
    async (profile, version, harnesses) => {
      const facts = await inspectKiro(printWith({ FAKE_KIRO_PROFILE: profile }), kiroCliPath);

      expect(facts?.version).toBe(version);
      expect(facts && listHarnesses(facts)).toEqual(harnesses);
    },
  );

  it("finds none where the program is missing, or prints no help", async () => {
    expect(await inspectKiro(printWith({}), "/nowhere/kiro-cli")).toBeUndefined();
    expect(await inspectKiro(printWith({}), "false")).toBeUndefined();
  });

  it.each([
    ["no variable", undefined, "names no folder"],
    ["an empty variable", "", "names no folder"],
    ["a missing folder", "FOLDER/missing", 'has nothing in "FOLDER/missing"'],
    ["an empty folder", "FOLDER/empty", 'has nothing in "FOLDER/empty"'],
    ["a file", "FOLDER/kiro-cli", 'has nothing in "FOLDER/kiro-cli"'],
    ["a place of agents", "FOLDER/full", 'has V3\'s programs in "FOLDER/full", where agents write'],
    ["a way into a place of agents", "/usr/..FOLDER/full", 'has V3\'s programs in "FOLDER/full", where agents write'],
    ["a link out of a place of agents", "FOLDER/link", 'has V3\'s programs in "FOLDER/link", where agents write'],
    ["a folder with something in it", "/usr", undefined],
  ])("says why V3 must not run with %s", async (_, value, problem) => {
    const env = value === undefined ? {} : { KIRO_RUNTIME_DIR: value.replace("FOLDER", folder) };

    const facts = await inspectKiro(printWith(env), join(folder, "kiro-cli"));

    expect(facts).toBeDefined();
    if (problem === undefined) expect(facts?.runtimeProblem).toBeUndefined();
    else expect(facts?.runtimeProblem).toContain(problem.replace("FOLDER", folder));
  });
});
