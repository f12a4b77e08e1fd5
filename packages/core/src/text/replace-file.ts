import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BudgieError } from "../errors.ts";

/** Writes a file of the user's alone, at once: another budgie reads the old text or the new one, and no half of it. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}-${randomUUID()}`;
  writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}

/** Writes JSON into a file of the state directory, in place of what it had. Throws `CONFIG_INVALID` if that fails. */
export function writeStateFile(file: string, content: unknown): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    replaceFile(file, JSON.stringify(content));
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new BudgieError("CONFIG_INVALID", `Cannot write "${file}": ${reason}.`, { cause });
  }
}

/** Writes a file if its content differs, atomically, since containers of any budgie may read it. Returns its path. */
export function ensureMountedFile(folder: string, name: string, content: string | Buffer): string {
  const path = join(folder, name);
  if (existsSync(path) && readFileSync(path).equals(Buffer.from(content))) return path;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Another budgie or the engine must not read half of it.
  const draft = `${path}-${randomUUID()}`;
  writeFileSync(draft, content, { mode: 0o644 });
  renameSync(draft, path);
  return path;
}
