import { readlink } from "node:fs/promises";
import { listChain, type FolderPath } from "../walk/folder-path.ts";
import { pathIn, type FolderHandle } from "../walk/open-folder.ts";

export type LinkPlace = {
  /** The workspace's open folder */
  readonly root: FolderHandle;
  /** Its path on the host, for symlinks with an absolute target */
  readonly workspace: string;
  /** The folder that the symlink is in */
  readonly folder: FolderPath;
};

/**
 * Returns true if a symlink leads out of a workspace, by itself or through others. Reads nothing outside. A symlink with too many
 * steps counts as leading out.
 */
export async function leadsOutside(target: Buffer, { folder, root, workspace }: LinkPlace): Promise<boolean> {
  const home = `${Buffer.from(workspace).toString("latin1")}/`;
  const names = listChain(folder).map(({ name }) => name);
  let way = followLink({ at: names.slice(1), left: [] }, target.toString("latin1"), home);
  for (let steps = 0; way !== undefined && steps < MOST_STEPS; steps++) {
    const step = way.left.pop();
    if (step === undefined) return false;
    if (step === "..") {
      if (way.at.pop() === undefined) return true;
    } else if (step !== "" && step !== ".") {
      const next = await readlink(pathIn(root, toPath([...way.at, step])), "buffer").catch(() => undefined);
      if (next === undefined) way.at.push(step);
      else way = followLink(way, next.toString("latin1"), home);
    }
  }
  return true;
}

const MOST_STEPS = 256;

/** The state of following a symlink: the folder reached, and the remaining steps, the next one last. */
type Way = { readonly at: string[]; readonly left: string[] };

/** Prepends a symlink's target to the remaining steps; `undefined` if it leads out at once, or has too many steps. */
function followLink({ at, left }: Way, target: string, home: string): Way | undefined {
  const isAbsolute = target.startsWith("/");
  if (left.length > MOST_STEPS || (isAbsolute && !`${target}/`.startsWith(home))) return undefined;
  const steps = (isAbsolute ? target.slice(home.length) : target).split("/");
  return { at: isAbsolute ? [] : at, left: [...left, ...steps.toReversed()] };
}

function toPath(names: readonly string[]): Buffer {
  return Buffer.from(names.join("/"), "latin1");
}
