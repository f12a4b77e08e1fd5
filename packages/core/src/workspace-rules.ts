import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** Which directories may be a workspace. */
export type WorkspaceRules = {
  /** If there are any, a workspace must lie in one of them; resolved when budgie started, so that no link can be turned later */
  readonly allowedRoots: readonly string[];
  /** What no workspace may hold; empty where there is no sandbox to keep it out of */
  readonly guarded: readonly GuardedPath[];
};

/** A path of the host that no workspace may hold, whether it exists or not. */
export type GuardedPath = {
  readonly path: string;
  /** Such as `the SSH keys` */
  readonly what: string;
  /** True for the home directory, which holds the projects as well */
  readonly mayHoldWorkspaces?: boolean;
};

/** Why a workspace is refused, as the rest of a sentence about it and a remedy. */
export type WorkspaceRefusal = { readonly what: string; readonly remedy: string };

/** Says why the rules refuse a directory that is resolved already; `undefined` if they do not. */
export async function findRefusal(
  directory: string,
  { allowedRoots, guarded }: WorkspaceRules,
): Promise<WorkspaceRefusal | undefined> {
  if (allowedRoots.length > 0 && !allowedRoots.some((root) => isWithin(directory, root))) {
    const roots = allowedRoots.map((root) => JSON.stringify(root)).join(", ");
    return {
      what: `lies in none of the allowed roots (${roots})`,
      remedy: "Pass one in there, or start budgie with one more --allow-root.",
    };
  }
  for (const thing of guarded) {
    const relation = toRelation(directory, [thing.path, ...(await trailOf(thing.path))], thing);
    if (relation !== undefined) {
      const what = `${relation} ${thing.what} (${JSON.stringify(thing.path)}), which a sandbox is never given`;
      return { what, remedy: "Pass a project's own directory." };
    }
  }
  return undefined;
}

function toRelation(directory: string, trail: readonly string[], thing: GuardedPath): string | undefined {
  if (trail.includes(directory)) return "is";
  if (trail.some((path) => isWithin(path, directory))) return "holds";
  if (thing.mayHoldWorkspaces !== true && trail.some((path) => isWithin(directory, path))) return "lies in";
  return undefined;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

const MOST_HOPS = 40;

/** Where a path is, and where it leads: whoever may write a link on the way decides what is at its end. */
async function trailOf(path: string, hopsLeft = MOST_HOPS): Promise<readonly string[]> {
  const here = join(await resolveExisting(dirname(path)), basename(path));
  const target = hopsLeft === 0 ? undefined : await readlink(here).catch(() => undefined);
  if (target === undefined) return [here];
  return [here, ...(await trailOf(resolve(dirname(here), target), hopsLeft - 1))];
}

/** Resolves as much of a path as exists. */
async function resolveExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return dirname(path) === path ? path : join(await resolveExisting(dirname(path)), basename(path));
  }
}
