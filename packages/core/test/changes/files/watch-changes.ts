import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ChangedFiles } from "../../../src/changed-files.ts";
import { watchExecutablePaths } from "../../../src/changes/watch-executable-paths.ts";
import { createTemporaryFolder } from "../../helpers/temporary-folder.ts";

/** Watches a workspace while something works in it, and returns its changed files. */
export async function watchChanges(work: (root: string) => void): Promise<ChangedFiles> {
  const root = createTemporaryFolder();
  write(root, "src/a.ts");
  write(root, "src/deep/d.ts");
  write(root, ".git/hooks/old");
  write(root, ".git/objects/old");
  write(root, "node_modules/one/a.js");
  const watched = watchExecutablePaths(root);
  await watched.ready;
  work(root);
  const { files } = await watched.findChanges();
  if (files === undefined) throw new TypeError("The watch has no files.");
  return files;
}

/** Writes a file, and creates its folders. */
export function write(root: string, path: string, content = "x"): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}
