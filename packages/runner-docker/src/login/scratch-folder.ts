import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

/** A private folder for short-lived copies, which is removed with its content. */
export type ScratchFolder = AsyncDisposable & { readonly path: string };

/** Creates a scratch folder below a folder of the host. */
export async function createScratchFolder(scratchDir: string): Promise<ScratchFolder> {
  await mkdir(scratchDir, { recursive: true, mode: 0o700 });
  const path = await mkdtemp(join(scratchDir, "login-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
