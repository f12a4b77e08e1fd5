import { readdir, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isWithin } from "./is-within.ts";
import { loadMounts, listOtherNames, listShownPlaces } from "./load-mounts.ts";
import { formatOption } from "../option-name.ts";

/** The rules for directories that may be a workspace. */
export type WorkspaceRules = {
  /** The directories that workspaces must lie in; any directory if empty */
  readonly allowedRoots: readonly AllowedRoot[];
  /** Paths that no workspace may hold; `undefined` without a sandbox, where an agent reaches them anyway */
  readonly guarded: readonly GuardedPath[] | undefined;
  /** The directory that a caller's `~/` names; left out, there is no such directory */
  readonly home?: string;
};

/** A directory that calls may work in, including everything below it. */
export type AllowedRoot = {
  /** Absolute path as the user wrote it, links included */
  readonly named: string;
  /** The path resolved when budgie started, so that a symlink that is changed later has no effect */
  readonly path: string;
};

/** A path of the host that no workspace may hold, whether it exists or not. */
export type GuardedPath = {
  readonly path: string;
  /** Such as `your SSH keys` */
  readonly what: string;
  /** True for the home directory: a workspace may lie in it, though not in its dot-directories */
  readonly mayHoldWorkspaces?: boolean;
  /** Folders in it where a workspace may lie nevertheless */
  readonly except?: readonly string[];
  /** Set for settings of budgie. No workspace may hold what the symlinks in such a folder lead to */
  readonly settings?: "file" | "folder";
};

/** The reason why a workspace is refused, as the rest of a sentence about it, and a remedy. */
export type WorkspaceRefusal = { readonly what: string; readonly remedy: string };

/** Checks a resolved directory against the rules; `undefined` if they allow it. */
export async function findRefusal(
  directory: string,
  { allowedRoots, guarded }: WorkspaceRules,
): Promise<WorkspaceRefusal | undefined> {
  const refusal = guarded && (await findGuarded(directory, guarded, allowedRoots));
  if (refusal !== undefined) return refusal;
  if (allowedRoots.length === 0 || allowedRoots.some(({ path }) => isWithin(directory, path))) return undefined;
  const roots = allowedRoots.map(({ path }) => JSON.stringify(path)).join(", ");
  return {
    what: `lies in none of the allowed roots (${roots})`,
    remedy: `Pass one in there, or allow one more with ${formatOption("allowedRoots")}.`,
  };
}

async function findGuarded(
  directory: string,
  guarded: readonly GuardedPath[],
  allowedRoots: readonly AllowedRoot[],
): Promise<WorkspaceRefusal | undefined> {
  const things = await Promise.all(guarded.map(locate));
  const mounts = await loadMounts();
  const roots = allowedRoots.flatMap(({ path }) => [path, ...listOtherNames(path, mounts)]);
  const refusal = judge(directory, things, roots);
  if (refusal !== undefined) return refusal;
  for (const { path, point } of listShownPlaces(directory, mounts)) {
    const shown = judge(
      path,
      things.filter((thing) => isOwn(thing, point)),
      roots,
    );
    if (shown !== undefined) return { ...shown, what: `shows ${JSON.stringify(path)}, which ${shown.what}` };
  }
  return undefined;
}

/** Returns true if a mount counts as part of a guarded path. A mount below a system folder, such as a backup in `/run`, does not. */
function isOwn({ mayHoldWorkspaces, trail }: Located, point: string): boolean {
  return mayHoldWorkspaces === true || !trail.some((step) => step !== point && isWithin(point, step));
}

type Located = GuardedPath & {
  /** Its path, and the paths that its symlinks resolve to */
  readonly trail: readonly string[];
};

async function locate(thing: GuardedPath): Promise<Located> {
  const except = await Promise.all((thing.except ?? []).map(resolveExisting));
  const links = thing.settings === "folder" ? await findLinks(thing.path) : [];
  const trails = await Promise.all([thing.path, ...links].map((path) => findTrail(path)));
  return { ...thing, except, trail: [thing.path, ...trails.flat()] };
}

function judge(directory: string, things: readonly Located[], roots: readonly string[]): WorkspaceRefusal | undefined {
  for (const thing of things) {
    const relation = findRelation(directory, thing);
    if (relation === undefined) continue;
    const what = `${relation} ${thing.what} (${JSON.stringify(thing.path)}), which a sandbox is never given`;
    return { what, remedy: thing.settings === undefined ? "Pass a project's own directory." : KEEP_IT };
  }
  const homes = things.filter(({ mayHoldWorkspaces }) => mayHoldWorkspaces === true);
  const folder = homes.map((home) => findClosedFolder(directory, home, roots)).find((found) => found !== undefined);
  return folder === undefined ? undefined : { what: formatClosed(folder), remedy: NAME_IT };
}

const KEEP_IT = "Pass another directory, or keep that where no agent works.";

const NAME_IT = `Pass a project's own directory, or allow one in there with ${formatOption("allowedRoots")}.`;

function formatClosed(folder: string): string {
  return `lies in ${JSON.stringify(folder)}, where programs keep logins and settings`;
}

function findRelation(directory: string, { except = [], mayHoldWorkspaces, trail }: Located): string | undefined {
  if (trail.includes(directory)) return "is";
  if (trail.some((path) => isWithin(path, directory))) return "holds";
  if (mayHoldWorkspaces === true) return undefined;
  const guardedPath = trail.find((path) => isWithin(directory, path));
  // An exception counts only inside the guarded path; a home at `/` does not.
  const isExcepted =
    guardedPath !== undefined && except.some((path) => isWithin(path, guardedPath) && isWithin(directory, path));
  return guardedPath === undefined || isExcepted ? undefined : "lies in";
}

// The folder that applications use in place of dot-directories.
const CLOSED = process.platform === "darwin" ? "Library" : "snap";

/**
 * Finds the first dot-directory between a home and a directory, unless an allowed root lies at or below it and no other dot-directory
 * follows that root.
 */
function findClosedFolder(directory: string, { trail }: Located, roots: readonly string[]): string | undefined {
  const home = trail.find((path) => isWithin(directory, path));
  if (home === undefined) return undefined;
  const names = relative(home, directory).split("/");
  const index = names.findIndex((name, place) => name.startsWith(".") || (place === 0 && name === CLOSED));
  if (index === -1) return undefined;
  const folder = join(home, ...names.slice(0, index + 1));
  const isNamed = roots.some(
    (root) => isWithin(root, folder) && isWithin(directory, root) && !/(?:^|\/)\./.test(relative(root, directory)),
  );
  return isNamed ? undefined : folder;
}

const MOST_HOPS = 40;

/** Lists a path and the targets of its symlinks. Anyone who can change one of these symlinks decides where the path ends. */
async function findTrail(path: string, hopsLeft = MOST_HOPS): Promise<readonly string[]> {
  const here = join(await resolveExisting(dirname(path)), basename(path));
  const target = hopsLeft === 0 ? undefined : await readlink(here).catch(() => undefined);
  if (target === undefined) return [here];
  return [here, ...(await findTrail(resolve(dirname(here), target), hopsLeft - 1))];
}

const DEEPEST_LINK = 8;
const MOST_LINKS = 1000;

/** Lists the symlinks in a folder and its subfolders; empty for a folder that cannot be read. */
async function findLinks(folder: string, levelsLeft = DEEPEST_LINK): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name));
  const folders = levelsLeft === 0 ? [] : entries.filter((entry) => entry.isDirectory());
  const below = await Promise.all(folders.map(({ name }) => findLinks(join(folder, name), levelsLeft - 1)));
  return [...links, ...below.flat()].slice(0, MOST_LINKS);
}

/** Resolves as much of a path as exists. */
async function resolveExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return dirname(path) === path ? path : join(await resolveExisting(dirname(path)), basename(path));
  }
}
