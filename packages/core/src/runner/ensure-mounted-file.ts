import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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
