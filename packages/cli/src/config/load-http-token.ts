import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { BudgieError } from "@budgie/core";
import { checkRead } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";

/** Removes the token from the environment, so that no child process inherits it, and returns it. */
export function takeHttpToken({ env }: Pick<Host, "env">): string | undefined {
  const token = env[VARIABLE];
  delete env[VARIABLE];
  return token || undefined;
}

/** Loads the token from the variable or the file, or generates one. Throws `CONFIG_INVALID` for an unusable token. */
export function loadHttpToken({ file, isRemote, token: given }: GivenToken): HttpToken {
  if (given !== undefined && file !== undefined) {
    throw invalid(`Both ${VARIABLE} and --http-token-file have a token. Leave one of them out.`);
  }
  if (given !== undefined) return { token: checkToken(given, VARIABLE), isNew: false };
  if (file !== undefined) {
    return { token: checkToken(readToken(file), `The file "${file}" of --http-token-file`), isNew: false };
  }
  if (isRemote) {
    throw invalid(
      `With --http-allow-remote budgie makes no token of its own. Set ${VARIABLE}, or name a file with --http-token-file.`,
    );
  }
  return { token: randomBytes(32).toString("base64url"), isNew: true };
}

type HttpToken = { readonly token: string; readonly isNew: boolean };

type GivenToken = {
  /** The value from the environment */
  readonly token: string | undefined;
  readonly file: string | undefined;
  /** `true` if other machines can reach the server */
  readonly isRemote: boolean;
};

const VARIABLE = "BUDGIE_HTTP_TOKEN";
const SHORTEST = 32;
const LONGEST = 4096;
// The syntax of a bearer token in the Authorization header
const FORM = /^[\w.~+/-]+=*$/;

function checkToken(text: string, source: string): string {
  const token = text.trim();
  if (token.length < SHORTEST) {
    throw invalid(
      `${source} has a token of ${token.length} characters, and ${SHORTEST} are the least. "openssl rand -hex 32" prints a good one.`,
    );
  }
  if (token.length > LONGEST || !FORM.test(token)) {
    throw invalid(
      `${source} has an invalid token: expected at most ${LONGEST} letters, digits and "-._~+/", with "=" at the end at most.`,
    );
  }
  return token;
}

function readToken(file: string): string {
  let descriptor: number | undefined;
  try {
    // Opening a pipe would block until another process writes to it.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > 2 * LONGEST)
      throw invalid(`"${file}" of --http-token-file is not a file with a token.`);
    if ((stats.mode & OTHERS) !== 0 && process.platform !== "win32") {
      throw invalid(
        `Other users can read or change the file "${file}" of --http-token-file. Run "chmod 600" on it, and choose a new token.`,
      );
    }
    const bytes = readFileSync(descriptor);
    checkRead(descriptor, file, bytes);
    return bytes.toString("utf8");
  } catch (cause) {
    if (cause instanceof BudgieError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    throw invalid(`Cannot read the file "${file}" of --http-token-file: ${code ?? message}.`, cause);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const OTHERS = 0o077;

function invalid(message: string, cause?: unknown): BudgieError {
  return new BudgieError("CONFIG_INVALID", message, { cause });
}
