import { mkdir, opendir, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { HeldSource, Holds } from "./hold-sources.ts";

/**
 * Where Kiro, or the program that it came from, takes an agent's definition from the folder that it works in: agents, MCP
 * servers and settings, hooks. What it takes as context, such as `.kiro/steering`, stays.
 */
const PLACES: Readonly<Record<string, Places>> = {
  ".kiro": { agents: "folder", settings: "folder", hooks: "folder" },
  ".amazonq": { "cli-agents": "folder", "mcp.json": "list" },
};

// Each is a mount of its own.
const MOST_CHILDREN = 64;

/** What lies in place of a hidden list of MCP servers. */
const NO_SERVERS = '{ "mcpServers": {} }\n';

/** A folder of a workspace of which a sandbox has a cover of budgie's own. */
export type CoveredFolder = {
  /** Such as `.kiro` */
  readonly name: string;
  /** On the host, for as long as the sandbox is there */
  readonly cover: string;
  /** The files and folders of the repository that are shown all the same, for which the cover has mount points */
  readonly shown: readonly HeldSource[];
};

export type Covers = {
  readonly covered: readonly CoveredFolder[];
  /** The folders that are not there to be covered */
  readonly absent: readonly string[];
};

/**
 * Covers the folders in which a repository can redefine the configured agent, each as a whole, so that neither a place in it
 * nor the folder itself can be exchanged by another agent that has it covered. A folder that is absent is left alone, since
 * the engine would make it in the user's repository; anything but a folder is refused, since no mount would cover it for sure.
 */
export async function coverHiddenPlaces(workspace: HeldSource, holds: Holds, skeleton: string): Promise<Covers> {
  const [covered, absent]: [CoveredFolder[], string[]] = [[], []];
  for (const [name, places] of Object.entries(PLACES)) {
    const folder = await holds.open(name, workspace);
    const path = join(skeleton, name);
    if (folder === undefined) absent.push(name);
    else covered.push({ name, cover: path, shown: await cover(folder, places, { holds, path }) });
  }
  return { covered, absent };
}

type Places = Readonly<Record<string, "folder" | "list">>;
type Cover = { readonly holds: Holds; readonly path: string };

async function cover(folder: HeldSource, places: Places, { holds, path }: Cover): Promise<readonly HeldSource[]> {
  if (folder.kind !== "folder") throw uncoverable(folder.path, "is not a plain directory");
  const shown: HeldSource[] = [];
  await mkdir(path, { recursive: true });
  for (const name of await readNames(folder)) {
    const place = Object.keys(places).find((other) => fold(other) === fold(name));
    if (place !== undefined) await makePlace(join(path, place), places[place]);
    else shown.push(...(await show(name, folder, { holds, path })));
  }
  return shown;
}

/** Reads no more names than may be shown. */
async function readNames(folder: HeldSource): Promise<readonly string[]> {
  const names: string[] = [];
  const entries = await opendir(folder.here).catch((error: NodeJS.ErrnoException) => {
    // What budgie may not look at, an agent of the same user can make visible again.
    throw uncoverable(folder.path, `cannot be read (${error.code})`);
  });
  for await (const { name } of entries) {
    if (names.push(name) > MOST_CHILDREN) throw uncoverable(folder.path, `holds more than ${MOST_CHILDREN} entries`);
  }
  return names;
}

// Case does not count on every file system.
function fold(name: string): string {
  return name.normalize("NFKC").toUpperCase();
}

async function makePlace(path: string, kind: "folder" | "list" | undefined): Promise<void> {
  if (kind === "list") await writeFile(path, NO_SERVERS);
  else await mkdir(path, { recursive: true });
}

/** A link is the same link in the cover; a pipe, a socket or a name that is no text is left out. */
async function show(name: string, folder: HeldSource, { holds, path }: Cover): Promise<readonly HeldSource[]> {
  const child = await holds.open(name, folder);
  if (child?.kind === "link") {
    const target = await readlink(`${folder.here}/${name}`).catch(() => undefined);
    if (target !== undefined) await symlink(target, join(path, name));
    return [];
  }
  if (child?.kind !== "file" && child?.kind !== "folder") return [];
  await makeMountPoint(join(path, name), child.kind);
  return [child];
}

/** Makes an empty file or folder for something to be mounted on. */
export async function makeMountPoint(path: string, kind: HeldSource["kind"]): Promise<void> {
  await mkdir(kind === "folder" ? path : dirname(path), { recursive: true, mode: 0o755 });
  if (kind !== "folder") await writeFile(path, "");
}

function uncoverable(path: string, why: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" ${why}, so the sandbox cannot hide what the repository says of agents. Remove it, or make it a plain directory.`,
  );
}
