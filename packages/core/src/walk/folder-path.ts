import { createHash } from "node:crypto";

/** A folder's path below the root of a walk, as a linked list: paths may have thousands of bytes, and so share their parents. */
export type FolderPath = {
  /** `undefined` for the root */
  readonly parent: FolderPath | undefined;
  /** As latin1, since a name is bytes and need not be text */
  readonly name: string;
  readonly depth: number;
};

/** The path of a walk's root. */
export const ROOT: FolderPath = { parent: undefined, name: "", depth: 0 };

/** Appends a name to a path. */
export function childPath(parent: FolderPath, name: Buffer): FolderPath {
  return { parent, name: name.toString("latin1"), depth: parent.depth + 1 };
}

/** Lists the paths from the root to a folder, both included. */
export function listChain(path: FolderPath): readonly FolderPath[] {
  const chain: FolderPath[] = [];
  for (let at: FolderPath | undefined = path; at !== undefined; at = at.parent) chain.push(at);
  return chain.reverse();
}

/**
 * Writes the path of a folder, or of `name` in it, as latin1. A long path is cut, and made unique
 * by a hash.
 */
export function toPathKey(path: FolderPath, name?: Buffer): string {
  const names = listChain(path)
    .slice(1)
    .map((folder) => folder.name);
  const whole = (name === undefined ? names : [...names, name.toString("latin1")]).join("/");
  if (whole.length <= LONGEST_KEY) return whole;
  const hash = createHash("sha256").update(whole, "latin1").digest("hex");
  // A slice keeps the whole string in memory, so this makes a copy.
  const begin = Buffer.from(whole.slice(0, LONGEST_KEY), "latin1").toString("latin1");
  return `${begin}...${hash.slice(0, 32)}`;
}

const LONGEST_KEY = 300;
