import { chmod, mkdir, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, isHomePath } from "@budgie/core";
import type { CoverEntry } from "@budgie/core/policy";
import { descriptorPath } from "@budgie/sandbox/mounts";
import { emptyFolder } from "./empty-folder.ts";
import { findKind, giveRights, openFolder, openIn } from "./open-in.ts";
import type { PodRoots } from "./pod-roots.ts";

/** A path below the copy, and the replacement of what it hides; without one nothing is in its place. */
export type HiddenPath = { readonly path: string; readonly content?: CoverEntry };

/** The paths of a copy that are away for a turn. No process of the agent's runs while one of its functions does. */
export type HidingPlace = {
  /** Moves paths away. A path that is missing stays so */
  readonly hide: (paths: readonly HiddenPath[]) => Promise<void>;
  /** Puts all back, in place of whatever stands there */
  readonly restore: () => Promise<void>;
};

type Away = { readonly path: string; readonly original: string; readonly mode: number | undefined };

/** Creates the place of what is hidden. */
export function createHidingPlace({ hidden, tree }: Pick<PodRoots, "hidden" | "tree">): HidingPlace {
  const away: Away[] = [];
  let count = 0;
  let last = Promise.resolve();

  async function hideOne({ content, path }: HiddenPath): Promise<void> {
    await using parent = await openIn(tree, path, "onlyExisting");
    const kind = await findKind(parent.path);
    if (kind === null) return;
    const original = join(hidden, `original-${count++}`);
    const mode = kind === "folder" ? await openUp(parent.path) : undefined;
    await rename(parent.path, original);
    // Known before anything else may fail, so that it comes back.
    away.push({ path, original, mode });
    if (content !== undefined) await makeContent(parent.path, content);
  }

  async function restoreAll(): Promise<void> {
    for (let one = away.at(-1); one !== undefined; one = away.at(-1)) {
      await makeParents(one.path);
      await using parent = await openIn(tree, one.path, "makeMissing");
      await moveAside(parent.path);
      await rename(one.original, parent.path);
      if (one.mode !== undefined) await closeAgain(parent.path, one.mode);
      away.pop();
    }
    // Files that an agent left there are removed once the originals are back.
    await emptyFolder(hidden);
  }

  /** Removes whatever stands in the place of a folder on the way to a path. */
  async function makeParents(path: string): Promise<void> {
    const names = path.split("/");
    for (let length = 1; length < names.length; length += 1) {
      await using parent = await openIn(tree, names.slice(0, length).join("/"), "makeMissing");
      const kind = await findKind(parent.path);
      if (kind !== "folder" && kind !== null) await unlink(parent.path);
    }
  }

  async function moveAside(path: string): Promise<void> {
    const kind = await findKind(path);
    if (kind === null) return;
    if (kind === "folder") await openUp(path);
    await rename(path, join(hidden, `left-${count++}`));
  }

  /** Runs a task after those before it. */
  function next(task: () => Promise<void>): Promise<void> {
    const run = last.then(task);
    last = run.catch(() => undefined);
    return run;
  }

  return {
    hide: (paths) =>
      next(async () => {
        for (const { path } of paths) if (!isHomePath(path)) throw pathError(path);
        for (const path of paths) await hideOne(path).catch(ignoreMissing);
      }),
    restore: () => next(restoreAll),
  };
}

/** Makes a folder movable, and resolves to the mode that it had, if that was another one. */
async function openUp(path: string): Promise<number | undefined> {
  await using folder = await openFolder(path);
  const mode = await giveRights(folder);
  return mode === ((await folder.stat()).mode & 0o7777) ? undefined : mode;
}

async function closeAgain(path: string, mode: number): Promise<void> {
  await using folder = await openFolder(path);
  await chmod(descriptorPath(folder), mode);
}

/** Makes a cover. Its names are of the command, and all new. */
async function makeContent(path: string, content: CoverEntry): Promise<void> {
  if (typeof content === "object" && "content" in content) return writeFile(path, content.content, { flag: "wx" });
  await mkdir(path, { mode: 0o755 });
  const files = content === "empty folder" ? {} : content.files;
  for (const [name, text] of Object.entries(files)) await writeFile(`${path}/${name}`, text, { flag: "wx" });
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

function pathError(path: string): BudgieError {
  return new BudgieError("INPUT_INVALID", `${JSON.stringify(path.slice(0, 300))} is no path below the session's copy.`);
}
