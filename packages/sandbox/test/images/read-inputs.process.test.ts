import { execFileSync } from "node:child_process";
import { Dir, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
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

it("a folder of many files is left after the first 257, however many there are", () => {
  const directory = mkdtempSync(join(tmpdir(), "budgie-inputs-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const folder = join(directory, ".budgie");
  mkdirSync(folder);
  for (let count = 0; count < 5000; count += 1) writeFileSync(join(folder, `${count}`), "");
  const read = vi.spyOn(Dir.prototype, "readSync");
  onTestFinished(() => read.mockRestore());

  expect(() => readInputs(directory, ".budgie")).toThrow("has more than 256 files");
  expect(read).toHaveBeenCalledTimes(257);
});
