import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { toExitError, toReason } from "./exit-error.ts";
import type { Settings } from "./settings.ts";

/** Unpacks the program of V3 if it is not there, and runs it from there. The real one has about 300 MB. */
export function runRuntime({ traits: { version } }: Settings): void {
  const program = toProgram(version);
  const hash = createHash("sha256").update(program).digest("hex").slice(0, 12);
  const root = process.env["KIRO_RUNTIME_DIR"] || join(homedir(), ".local", "share", "kiro-cli");
  const folder = join(root, "kas", `${version}-${hash}`);
  const file = join(folder, "server");
  if (!isComplete(file, program)) unpack(folder, { file, program });
  const { error, stdout } = spawnSync(file, { encoding: "utf8" });
  if (stdout !== "ready\n") throw toExitError(1, `error: Failed to run ${file}: ${error?.message ?? "no answer"}`);
}

function toProgram(version: string): string {
  return `#!/bin/sh\n# The stand-in's runtime of V3, ${version}\necho ready\n`;
}

function isComplete(file: string, program: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8") === program;
}

type Runtime = { readonly file: string; readonly program: string };

function unpack(folder: string, { file, program }: Runtime): void {
  const partial = `${file}.${process.pid}`;
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(partial, program, { mode: 0o755 });
    renameSync(partial, file);
  } catch (error) {
    throw toExitError(1, `error: Failed to unpack the V3 runtime into ${folder}: ${toReason(error)}`);
  }
}
