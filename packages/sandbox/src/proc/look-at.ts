import { lstat, stat } from "node:fs/promises";

/** The kind of a path, as far as it matters for resolving paths through it. */
export type PathKind = "folder" | "link" | "other";

/**
 * Inspects paths below a container's root on this machine, parents first, and stops at the first symlink. Throws if the container ended
 * meanwhile: nothing is found below its root then.
 */
export async function lookAt(root: string, paths: readonly string[]): Promise<readonly (PathKind | undefined)[]> {
  const kinds = new Map<string, PathKind | undefined>();
  for (const path of paths.toSorted((a, b) => a.length - b.length)) {
    const kind = await kindOf(root + path);
    kinds.set(path, kind);
    if (kind === "link") break;
  }
  await stat(`${root}/`);
  return paths.map((path) => kinds.get(path));
}

async function kindOf(path: string): Promise<PathKind | undefined> {
  try {
    const facts = await lstat(path);
    if (facts.isSymbolicLink()) return "link";
    return facts.isDirectory() ? "folder" : "other";
  } catch (error) {
    // ENOTDIR: a parent is no folder, so the path does not exist.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
