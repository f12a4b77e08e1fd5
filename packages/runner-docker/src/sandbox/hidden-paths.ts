import { mkdir, opendir, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { HeldSource, HeldSources } from "./mount-sources.ts";

/**
 * The paths in its working folder from which Kiro, or its predecessor Amazon Q, takes an agent's definition: agents, MCP
 * servers, settings and hooks. Paths that it reads as context, such as `.kiro/steering`, are not hidden.
 */
const PLACES: Readonly<Record<string, Places>> = {
  ".kiro": { agents: "folder", settings: "folder", hooks: "folder" },
  ".amazonq": { "cli-agents": "folder", "mcp.json": "list" },
};

// Each entry becomes a mount.
const MOST_CHILDREN = 64;

/** The content that replaces a hidden list of MCP servers. */
const NO_SERVERS = '{ "mcpServers": {} }\n';

/** A folder of a workspace over which budgie mounts another folder, the cover. */
export type CoveredFolder = {
  /** Such as `.kiro` */
  readonly name: string;
  /** Path of the cover on the host, which exists as long as the sandbox */
  readonly cover: string;
  /** The repository's files and folders that are mounted in the cover */
  readonly shown: readonly HeldSource[];
};

export type Covers = {
  readonly covered: readonly CoveredFolder[];
  /** The names of folders that do not exist */
  readonly absent: readonly string[];
};

/**
 * Covers each folder in which a repository can redefine the configured agent as a whole, so that the agent can replace neither
 * the folder nor an entry. A missing folder is not covered, since the engine would create it in the user's repository. Throws
 * for anything but a folder, which no mount covers reliably.
 */
export async function coverHiddenPaths(
  workspace: HeldSource,
  heldSources: HeldSources,
  skeleton: string,
): Promise<Covers> {
  const [covered, absent]: [CoveredFolder[], string[]] = [[], []];
  for (const [name, places] of Object.entries(PLACES)) {
    const folder = await heldSources.open(name, workspace);
    const path = join(skeleton, name);
    if (folder === undefined) absent.push(name);
    else covered.push({ name, cover: path, shown: await cover(folder, places, { heldSources, path }) });
  }
  return { covered, absent };
}

type Places = Readonly<Record<string, "folder" | "list">>;
type Cover = { readonly heldSources: HeldSources; readonly path: string };

async function cover(folder: HeldSource, places: Places, { heldSources, path }: Cover): Promise<readonly HeldSource[]> {
  if (folder.kind !== "folder") throw uncoverable(folder.path, "is not a plain directory", "Remove or replace it.");
  const shown: HeldSource[] = [];
  await mkdir(path, { recursive: true });
  for (const name of await readNames(folder)) {
    const place = Object.keys(places).find((other) => fold(other) === fold(name));
    if (place !== undefined) await makePlace(join(path, place), places[place]);
    else shown.push(...(await show(name, folder, { heldSources, path })));
  }
  return shown;
}

/** Reads the names in a folder; throws if there are too many. */
async function readNames(folder: HeldSource): Promise<readonly string[]> {
  const names: string[] = [];
  const entries = await opendir(folder.here).catch((error: NodeJS.ErrnoException) => {
    // An agent of the same user could make a folder readable that budgie cannot read.
    throw uncoverable(folder.path, `cannot be read (${error.code})`, "Make it readable.");
  });
  for await (const { name } of entries) {
    if (names.push(name) > MOST_CHILDREN)
      throw uncoverable(folder.path, `holds more than ${MOST_CHILDREN} entries`, "Remove some.");
  }
  return names;
}

// Some file systems ignore case.
function fold(name: string): string {
  return name.normalize("NFKC").toUpperCase();
}

async function makePlace(path: string, kind: "folder" | "list" | undefined): Promise<void> {
  if (kind === "list") await writeFile(path, NO_SERVERS);
  else await mkdir(path, { recursive: true });
}

/** Shows an entry in the cover. A symlink is copied; a pipe, a socket or a name that is not UTF-8 is omitted. */
async function show(name: string, folder: HeldSource, { heldSources, path }: Cover): Promise<readonly HeldSource[]> {
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
