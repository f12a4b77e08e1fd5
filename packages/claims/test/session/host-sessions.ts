import { execFile } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, constants } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ran } from "../../src/lab/collect.ts";
import type { Lab } from "../../src/lab/lab.ts";
import { openRawSession } from "../helpers/raw-session.ts";

/** Creates sessions whose homes are plain host folders, and whose turns run without a sandbox. */
export function createHostSessions(): Pick<Lab, "open" | "run"> & AsyncDisposable {
  const root = mkdtempSync(join(tmpdir(), "budgie-host-sessions-"));
  return {
    async open() {
      const session = await openRawSession();
      const home = join(root, session.id);
      mkdirSync(home);
      return {
        ...session,
        readFile: (name) => readFile(join(home, name), "latin1"),
        appendFile: (name, text) => appendFile(join(home, name), text),
      };
    },
    run: (argv, { directory = root, session } = {}) =>
      runOnHost(argv, { directory, home: join(root, session?.id ?? "") }),
    async [Symbol.asyncDispose]() {
      for (const home of readdirSync(root)) releaseReader(join(root, home, "answer"));
      rmSync(root, { recursive: true });
    },
  };
}

/** Runs one of the probes' own programs without a sandbox. */
export function runOnHost(
  [program = "", ...args]: readonly string[],
  place: { readonly directory: string; readonly home: string },
): Promise<Ran> {
  const options = { cwd: place.directory, env: { PATH: process.env["PATH"] ?? "", HOME: place.home } };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code ?? 1);
      resolve({ stdout, stderr, exit: { exitCode, signal: undefined, reason: undefined, oomKilled: false } });
    });
  });
}

/** Opens and closes a named pipe for writing, so that a reader that waits for a writer ends. */
function releaseReader(path: string): void {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // It is not a pipe, or has no reader.
  }
}
