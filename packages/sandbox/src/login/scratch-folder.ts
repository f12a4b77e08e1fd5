import { mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

/** A private folder for short-lived copies, which is removed with its content. */
export type ScratchFolder = AsyncDisposable & { readonly path: string };

/** Creates a scratch folder below a folder of the host. */
export function createScratchFolder(scratchDir: string): ScratchFolder {
  mkdirSync(scratchDir, { recursive: true, mode: 0o700 });
  const path = mkdtempSync(join(scratchDir, "login-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
