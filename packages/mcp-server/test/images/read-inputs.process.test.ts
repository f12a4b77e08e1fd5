import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readInputs } from "../../src/images/read-inputs.ts";

it("a pipe is refused, and blocks nothing", () => {
  const directory = mkdtempSync(join(tmpdir(), "budgie-inputs-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, ".budgie"));
  writeFileSync(join(directory, ".budgie/Dockerfile"), "FROM a\n");
  execFileSync("mkfifo", [join(directory, ".budgie/pipe")]);

  expect(() => readInputs(directory, ".budgie")).toThrow(`has "pipe", which is no regular file`);
  expect(() => readInputs(directory, ".budgie", "pipe")).toThrow(`has "pipe", which is no regular file`);
});
