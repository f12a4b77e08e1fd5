import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { GitFolder } from "./find-git-folder.ts";

/** The parts of a git folder that an agent may write, as paths in it. */
type Writable = {
  /** Parents come before their children */
  readonly writable: readonly string[];
  /** The existing paths in the writable ones that stay read-only */
  readonly guarded: readonly string[];
  /** The shell commands that make what cannot be guarded while it is missing: if there are any, nothing is writable */
  readonly commands: readonly string[];
  /** The path of the first symlink among them; `undefined` if there is none */
  readonly link: string | undefined;
};

// The files and folders that git obeys, besides data. A worktree's `own` has only the first; the rest is in the common folder, which is read-only.
const OBEYED = ["commondir", "config.worktree", "gitdir", "modules", "worktrees"];
const OBEYED_IN_COMMON = ["config", "hooks", "info"];

/** Finds the parts of a git folder that an agent may write, given the path of the workspace's own folder in it: "" for a submodule. */
export async function findWritable(own: string, { common, config }: GitFolder): Promise<Writable> {
  const isSubmodule = own === "";
  const inOwn = OBEYED.map((name) => join(own, name));
  const guarded = ["objects/info", ...inOwn, ...(isSubmodule ? OBEYED_IN_COMMON : [])];
  const writable = isSubmodule ? [""] : ["objects", "refs", "logs/refs", "reftable", own];
  const folders = ["objects/info", ...(isSubmodule ? ["hooks", "info"] : ["logs/refs"])];
  const files = [
    // A submodule needs none, and this one means itself.
    ...(isSubmodule ? [{ name: "commondir", content: "." }] : []),
    // git reads it only if the configuration says so, which an agent cannot change.
    ...(/worktreeconfig/i.test(config) ? [{ name: join(own, "config.worktree"), content: "" }] : []),
  ];
  const isMissing = async (name: string): Promise<boolean> => !(await hasAll(common, [name]));
  const commands = [
    ...(await filter(folders, isMissing)).map((name) => `mkdir -p ${quote(join(common, name))}`),
    ...(await filter(files, ({ name }) => isMissing(name))).map(
      ({ content, name }) => `echo ${quote(content)} >${quote(join(common, name))}`,
    ),
  ];
  const exists = (name: string): Promise<boolean> => hasAll(common, [name]);
  const isLink = async (name: string): Promise<boolean> =>
    (await lstat(join(common, name)).catch(() => undefined))?.isSymbolicLink() === true;
  const [link] = await filter([...writable, ...guarded], isLink);
  return {
    writable: await filter(writable, exists),
    guarded: await filter(guarded, exists),
    commands,
    link: link && join(common, link),
  };
}

/** Returns true if a folder has entries of all these names, whatever they are. */
export async function hasAll(folder: string, names: readonly string[]): Promise<boolean> {
  const found = await Promise.all(names.map((name) => lstat(join(folder, name)).catch(() => undefined)));
  return !found.includes(undefined);
}

async function filter<Item>(
  items: readonly Item[],
  isChosen: (item: Item) => Promise<boolean>,
): Promise<readonly Item[]> {
  const chosen = await Promise.all(items.map(isChosen));
  return items.filter((_, index) => chosen[index]);
}

function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
