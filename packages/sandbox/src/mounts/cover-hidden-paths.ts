import { mkdir, opendir, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { Cover, CoverEntry, Hidden } from "@budgie/core/policy";
import type { HeldSource, HeldSources } from "./held-sources.ts";

// Each entry becomes a mount.
const MOST_CHILDREN = 64;

/** A file or folder of a workspace over which budgie mounts another one, the cover. */
export type CoveredPath = {
  /** Such as `.kiro` */
  readonly name: string;
  /** Path of the cover on the host, which exists as long as the sandbox */
  readonly cover: string;
  /** The repository's files and folders that are mounted in the cover */
  readonly shown: readonly HeldSource[];
};

export type Covers = {
  readonly covered: readonly CoveredPath[];
  /** Harmless files, which stay: a mount keeps an agent from putting a folder in the place of one */
  readonly kept: readonly HeldSource[];
  /** The names of files and folders that do not exist */
  readonly absent: readonly string[];
};

export type CoverOptions = {
  readonly hidden: Hidden["ofWorkspace"];
  /** Path on the host of the folder for the covers */
  readonly skeleton: string;
};

/**
 * Covers, as a whole, each file and folder in which a repository can redefine the configured agent, so that the agent can replace neither
 * the folder nor an entry. A missing one is not covered, since the engine would create it in the user's repository. Throws for anything
 * else, which no mount covers reliably.
 */
export async function coverHiddenPaths(
  workspace: HeldSource,
  heldSources: HeldSources,
  { hidden, skeleton }: CoverOptions,
): Promise<Covers> {
  const [covered, kept, absent]: [CoveredPath[], HeldSource[], string[]] = [[], [], []];
  for (const [name, cover] of Object.entries(hidden)) {
    const source = await heldSources.open(name, workspace);
    const path = join(skeleton, name);
    if (source === undefined) absent.push(name);
    else if (source.kind === "file" && mayBeFile(cover)) kept.push(source);
    else covered.push({ name, cover: path, shown: await coverOne(source, cover, { heldSources, path }) });
  }
  return { covered, kept, absent };
}

function mayBeFile(cover: Cover): boolean {
  return typeof cover === "object" && "entries" in cover && cover.mayBeFile === true;
}

type Covering = { readonly heldSources: HeldSources; readonly path: string };

async function coverOne(source: HeldSource, cover: Cover, covering: Covering): Promise<readonly HeldSource[]> {
  const isFile = typeof cover === "object" && "content" in cover;
  if (source.kind !== (isFile ? "file" : "folder")) {
    throw uncoverable(source.path, `is not a plain ${isFile ? "file" : "directory"}`, "Remove or replace it.");
  }
  if (typeof cover === "object" && "entries" in cover) return coverEntries(source, cover.entries, covering);
  await makeEntry(covering.path, cover);
  return [];
}

/** Covers some entries of a folder. Returns the others. */
async function coverEntries(
  folder: HeldSource,
  places: Readonly<Record<string, CoverEntry>>,
  { heldSources, path }: Covering,
): Promise<readonly HeldSource[]> {
  const shown: HeldSource[] = [];
  await mkdir(path, { recursive: true });
  for (const name of await readNames(folder)) {
    const [place, entry] = Object.entries(places).find(([other]) => fold(other) === fold(name)) ?? [];
    if (place !== undefined && entry !== undefined) await makeEntry(join(path, place), entry);
    else shown.push(...(await show(name, folder, { heldSources, path })));
  }
  return shown;
}

/** Reads the names in a folder; throws if there are too many. */
async function readNames(folder: HeldSource): Promise<readonly string[]> {
  const names: string[] = [];
  const entries = await opendir(folder.here).catch((error: NodeJS.ErrnoException) => {
    // An agent of the same user could change the folder's mode and read what budgie cannot.
    throw uncoverable(folder.path, `cannot be read (${error.code})`, "Make it readable.");
  });
  for await (const { name } of entries) {
    if (names.push(name) > MOST_CHILDREN)
      throw uncoverable(folder.path, `holds more than ${MOST_CHILDREN} entries`, "Remove some.");
  }
  return names;
}

/** Returns a name as file systems that ignore case compare it. */
export function fold(name: string): string {
  return name.normalize("NFKC").toUpperCase();
}

/** Creates a cover's folder with its files, or its file. */
export async function makeEntry(path: string, entry: CoverEntry): Promise<void> {
  if (typeof entry === "object" && "content" in entry) {
    await makeMountPoint(path, "file");
    await writeFile(path, entry.content);
    return;
  }
  await makeMountPoint(path, "folder");
  const files = entry === "empty folder" ? {} : entry.files;
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
}

/** Shows an entry in the cover. A symlink is copied; a pipe, a socket or a name that is not UTF-8 is omitted. */
async function show(name: string, folder: HeldSource, { heldSources, path }: Covering): Promise<readonly HeldSource[]> {
  const child = await heldSources.open(name, folder);
  if (child?.kind === "link") {
    const target = await readlink(`${folder.here}/${name}`).catch(() => undefined);
    if (target !== undefined) await symlink(target, join(path, name));
    return [];
  }
  if (child?.kind !== "file" && child?.kind !== "folder") return [];
  await makeMountPoint(join(path, name), child.kind);
  return [child];
}

/** Creates an empty file or folder as a mount point. */
export async function makeMountPoint(path: string, kind: HeldSource["kind"]): Promise<void> {
  await mkdir(kind === "folder" ? path : dirname(path), { recursive: true, mode: 0o755 });
  if (kind !== "folder") await writeFile(path, "");
}

function uncoverable(path: string, why: string, remedy: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" ${why}, so the sandbox cannot hide the repository's definitions of agents. ${remedy}`,
  );
}
