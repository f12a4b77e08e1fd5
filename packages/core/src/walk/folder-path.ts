import { createHash } from "node:crypto";

/** A folder's place below the root of a walk. It shares its parents with others, since a path may have thousands of bytes. */
export type FolderPath = {
  /** `undefined` for the root */
  readonly parent: FolderPath | undefined;
  /** As latin1, since a name is bytes and need not be text */
  readonly name: string;
  readonly depth: number;
};

/** The place from which a walk begins. */
export const ROOT: FolderPath = { parent: undefined, name: "", depth: 0 };

/** The place of a folder in a folder. */
export function toChildPath(parent: FolderPath, name: Buffer): FolderPath {
  return { parent, name: name.toString("latin1"), depth: parent.depth + 1 };
}

/** The places from the root to a folder, both included. */
export function toChain(path: FolderPath): readonly FolderPath[] {
  const chain: FolderPath[] = [];
  for (let at: FolderPath | undefined = path; at !== undefined; at = at.parent) chain.push(at);
  return chain.reverse();
}

/**
 * Names what is at a place, or the file `name` in it, as latin1: by its path below the root, of which a long one is cut and
 * told apart by a hash.
 */
export function toPathKey(path: FolderPath, name?: Buffer): string {
  const names = toChain(path)
    .slice(1)
    .map((folder) => folder.name);
  const whole = (name === undefined ? names : [...names, name.toString("latin1")]).join("/");
  if (whole.length <= LONGEST_KEY) return whole;
  const hash = createHash("sha256").update(whole, "latin1").digest("hex");
  return `${whole.slice(0, LONGEST_KEY)}...${hash.slice(0, 32)}`;
}

const LONGEST_KEY = 300;
