import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { loadHttpToken } from "../../src/config/load-http-token.ts";

it("loadHttpToken does not wait for a pipe's writer", () => {
  const folder = mkdtempSync(join(tmpdir(), "budgie-token-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "pipe");
  execFileSync("mkfifo", ["-m", "600", file]);

  expect(() => loadHttpToken({ file, isRemote: false, token: undefined })).toThrow("is not a file with a token");
});
