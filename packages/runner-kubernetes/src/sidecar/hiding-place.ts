import { chmod, mkdir, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, isHomePath } from "@budgie/core";
import { isRecord } from "@budgie/core/bounds";
import type { CoverEntry } from "@budgie/core/policy";
import { descriptorPath } from "@budgie/sandbox/mounts";
import { emptyFolder } from "./empty-folder.ts";
import { findKind, giveRights, openFolder, openIn } from "./open-in.ts";
import type { PodRoots } from "./pod-roots.ts";

/** A path below the copy, and the replacement of what it hides; without one nothing is in its place. */
export type HiddenPath = { readonly path: string; readonly content?: CoverEntry };

/** The paths of a copy and of a home that are away for a turn. No process of the agent's runs while one of its functions does. */
export type HidingPlace = {
  /** Moves paths of the copy away. A path that is missing stays so */
  readonly hide: (paths: readonly HiddenPath[]) => Promise<void>;
  /** Puts all of the home back, empties the folder of what is shown, and then moves these paths of it away. Their places are free, also of what is made there later */
  readonly clear: (paths: readonly string[]) => Promise<void>;
  /** Puts all back, in place of whatever stands there, and empties the folder of what is shown */
  readonly restore: () => Promise<void>;
};

/** A folder in which paths are hidden, and the folder on its volume for what was there. */
type Ground = { readonly root: string; readonly hidden: string; readonly away: Away[] };

type Away = { readonly path: string; readonly original: string | undefined; readonly mode: number | undefined };

/** Creates the place of what is hidden. */
export function createHidingPlace(
  roots: Pick<PodRoots, "hidden" | "home" | "homeHidden" | "shown" | "tree">,
): HidingPlace {
  const copy: Ground = { root: roots.tree, hidden: roots.hidden, away: [] };
  const home: Ground = { root: roots.home, hidden: roots.homeHidden, away: [] };
  let count = 0;
  let last = Promise.resolve();

  async function hideOne({ content, path }: HiddenPath): Promise<void> {
    await using parent = await openIn(copy.root, path, "onlyExisting");
    if ((await findKind(parent.path)) === null) return;
    await moveAway(copy, path, parent.path);
    if (content !== undefined) await makeContent(parent.path, content);
  }

  async function clearOne(path: string): Promise<void> {
    await using parent = await openIn(home.root, path, "makeMissing");
    if ((await findKind(parent.path)) === null) home.away.push({ path, original: undefined, mode: undefined });
    else await moveAway(home, path, parent.path);
  }

  async function moveAway({ away, hidden }: Ground, path: string, here: string): Promise<void> {
    const original = join(hidden, `original-${count++}`);
    const mode = (await findKind(here)) === "folder" ? await openUp(here) : undefined;
    await rename(here, original);
    // Known before anything else may fail, so that it comes back.
    away.push({ path, original, mode });
  }

  async function restoreHome(): Promise<void> {
    await restoreAll(home);
    await emptyFolder(roots.shown);
  }

  async function restoreAll(ground: Ground): Promise<void> {
    const { away, hidden } = ground;
    for (let one = away.at(-1); one !== undefined; one = away.at(-1)) {
      await (one.original === undefined
        ? removeMade(ground, one.path)
        : putBack(ground, { ...one, original: one.original }));
      away.pop();
    }
    // Files that an agent left there are removed once the originals are back.
    await emptyFolder(hidden);
  }

  async function putBack(
    ground: Ground,
    { mode, original, path }: Away & { readonly original: string },
  ): Promise<void> {
    await makeParents(ground, path);
    await using parent = await openIn(ground.root, path, "makeMissing");
    await moveAside(ground, parent.path);
    await rename(original, parent.path);
    if (mode !== undefined) await closeAgain(parent.path, mode);
  }

  /** Removes what stands where nothing was. Behind anything but folders it is out of reach, and the next turn's files are too. */
  async function removeMade(ground: Ground, path: string): Promise<void> {
    try {
      await using parent = await openIn(ground.root, path, "makeMissing");
      await moveAside(ground, parent.path);
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
    }
  }

  /** Removes whatever stands in the place of a folder on the way to a path. */
  async function makeParents({ root }: Ground, path: string): Promise<void> {
    const names = path.split("/");
    for (let length = 1; length < names.length; length += 1) {
      await using parent = await openIn(root, names.slice(0, length).join("/"), "makeMissing");
      const kind = await findKind(parent.path);
      if (kind !== "folder" && kind !== null) await unlink(parent.path);
    }
  }

  async function moveAside({ hidden }: Ground, path: string): Promise<void> {
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
    clear: (paths) =>
      next(async () => {
        for (const path of paths) if (!isHomePath(path)) throw pathError(path);
        await restoreHome();
        for (const path of paths) await clearOne(path);
      }),
    restore: () =>
      next(async () => {
        await restoreAll(copy);
        await restoreHome();
      }),
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
  return new BudgieError(
    "INPUT_INVALID",
    `${JSON.stringify(path.slice(0, 300))} is no path below the session's copy or home.`,
  );
}

/** Returns true for a path to hide, as budgie sends it. */
export function isHiddenPath(value: unknown): value is HiddenPath {
  return (
    isRecord(value) &&
    typeof value["path"] === "string" &&
    (value["content"] === undefined || isCover(value["content"]))
  );
}

function isCover(value: unknown): value is CoverEntry {
  if (value === "empty folder") return true;
  if (!isRecord(value)) return false;
  if (typeof value["content"] === "string") return true;
  const files = value["files"];
  return isRecord(files) && Object.entries(files).every(([name, text]) => isName(name) && typeof text === "string");
}

function isName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/") && !name.includes("\0");
}
