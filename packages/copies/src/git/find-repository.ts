import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The repository that a directory is in. */
export type Repository = {
  /** Its directory, an absolute path */
  readonly root: string;
  /** The directory's path below it with a slash at its end; empty for the root itself */
  readonly prefix: string;
};

/** Finds the nearest directory with a `.git`, from a directory upwards. */
export async function findRepository(directory: string): Promise<Repository | undefined> {
  for (let root = directory; ; root = dirname(root)) {
    const found = await lstat(join(root, ".git")).catch(() => undefined);
    if (found !== undefined) {
      const below = directory.slice(root.length).replace(/^\/+/, "");
      return { root, prefix: below === "" ? "" : `${Buffer.from(below).toString("latin1")}/` };
    }
    if (root === dirname(root)) return undefined;
  }
}
