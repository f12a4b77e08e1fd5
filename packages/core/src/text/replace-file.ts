import { randomUUID } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";

/** Writes a file of the user's alone, at once: another budgie reads the old text or the new one, and no half of it. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}-${randomUUID()}`;
  writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}
