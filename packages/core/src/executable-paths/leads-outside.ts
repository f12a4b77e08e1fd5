import { readlink } from "node:fs/promises";
import { toChain, type FolderPath } from "../walk/folder-path.ts";
import { toPathIn, type HeldFolder } from "../walk/held-folder.ts";

export type LinkPlace = {
  /** The workspace's folder, held */
  readonly root: HeldFolder;
  /** Its path on the host, for links that name it */
  readonly workspace: string;
  /** The folder that the link is in */
  readonly folder: FolderPath;
};

/**
 * Whether a link leads out of a workspace, by itself or through others. Nothing outside is looked at, and what would take
 * very many steps counts as leading out.
 */
export async function leadsOutside(target: Buffer, { folder, root, workspace }: LinkPlace): Promise<boolean> {
  const home = `${Buffer.from(workspace).toString("latin1")}/`;
  let at: string[] = toChain(folder)
    .slice(1)
    .map(({ name }) => name);
  const left: string[] = [];

  /** Puts a link's target before what is left of the way; `false` if it leads out at once. */
  function turnTo(text: string): boolean {
    const isAbsolute = text.startsWith("/");
    if (isAbsolute && !`${text}/`.startsWith(home)) return false;
    if (isAbsolute) at = [];
    left.push(...(isAbsolute ? text.slice(home.length) : text).split("/").toReversed());
    return true;
  }

  if (!turnTo(target.toString("latin1"))) return true;
  for (let steps = 0; left.length > 0; steps++) {
    if (steps > MOST_STEPS) return true;
    const step = left.pop();
    if (step === undefined || step === "" || step === ".") continue;
    if (step === "..") {
      if (at.pop() === undefined) return true;
      continue;
    }
    const next = await readlink(toPathIn(root, Buffer.from([...at, step].join("/"), "latin1")), "buffer").catch(
      () => undefined,
    );
    if (next === undefined) at.push(step);
    else if (!turnTo(next.toString("latin1"))) return true;
  }
  return false;
}

const MOST_STEPS = 256;
