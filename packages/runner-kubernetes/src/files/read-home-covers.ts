import { posix } from "node:path";
import { BudgieError, isHomePath, type Command, type Projection } from "@budgie/core";
import type { FilledEntry } from "@budgie/core/copies";
import { isWithin, splitHidden, type CoverEntry } from "@budgie/core/policy";
import { createHeldSources, holdProjection } from "@budgie/sandbox/mounts";
import { createProjectionRoom, readProjection } from "./read-projection.ts";

/** The parts of a home that a command decides, in place of whatever a turn before made there. */
export type HomeCovers = {
  /** The paths below the home, none within another */
  readonly paths: readonly string[];
  /** All that is there, each folder before what is in it */
  readonly entries: readonly FilledEntry[];
};

type Layer = { readonly path: string; readonly entries: readonly FilledEntry[] };

/**
 * Reads what a command shows and hides in its home, as the mounts of a container would: each projection, and in a hidden folder only its
 * cover's files and projections. A projection without a path in the home cannot be shown in a Pod: one that is required throws `CONFIG_INVALID`,
 * others are left out. Throws as `holdProjection` does, and `CONFIG_INVALID` for more files or bytes than are sent.
 */
export async function readHomeCovers(command: Pick<Command, "hidden" | "projections">): Promise<HomeCovers> {
  const layers = await readLayers(command.projections);
  for (const [path, cover] of Object.entries(splitHidden(command).ofHome))
    // If the user's own folder is shown as a whole, there is nothing to hide.
    if (!layers.has(path)) layers.set(path, { path, entries: listCover(path, cover) });
  const paths = [...layers.keys()];
  return {
    paths: paths.filter((path) => !paths.some((other) => other !== path && isWithin(path, other))),
    entries: stack([...layers.values()]),
  };
}

/** Reads the projections, by their paths. The first one at a path wins. */
async function readLayers(projections: readonly Projection[]): Promise<Map<string, Layer>> {
  await using heldSources = createHeldSources();
  const layers = new Map<string, Layer>();
  const room = createProjectionRoom();
  for (const projection of projections) {
    const path = toHomePath(projection);
    if (path === undefined || layers.has(path)) continue;
    const source = await holdProjection(heldSources, projection);
    if (source?.kind !== "file" && source?.kind !== "folder") continue;
    layers.set(path, { path, entries: await readProjection(source, path, room) });
  }
  return layers;
}

/** Returns the path of a projection below the home; `undefined` for one that can be left out. */
function toHomePath({ home, isRequired, source }: Projection): string | undefined {
  if (home === undefined) {
    if (isRequired === true) throw unshowableError(source);
    return undefined;
  }
  const path = posix.join(home, ".");
  if (isHomePath(path)) return path;
  throw new BudgieError(
    "CONFIG_INVALID",
    `${JSON.stringify(source)} cannot be shown at ${JSON.stringify(home)}, which is not the path of a file in a home.`,
  );
}

function listCover(path: string, cover: CoverEntry): readonly FilledEntry[] {
  const files = typeof cover === "object" && "files" in cover ? cover.files : {};
  return [
    { entry: { path, kind: "folder", mode: 0o755 } },
    ...Object.entries(files).map(([name, text]): FilledEntry => {
      const content = Buffer.from(text);
      return { entry: { path: `${path}/${name}`, kind: "file", mode: 0o444, size: content.length }, content };
    }),
  ];
}

/** Lays the deeper paths over the others, as mounts lie over each other. */
function stack(layers: readonly Layer[]): readonly FilledEntry[] {
  const shown = new Map<string, FilledEntry>();
  for (const { entries, path } of layers.toSorted((a, b) => countParts(a.path) - countParts(b.path))) {
    for (const parent of listParents(path))
      if (shown.has(parent) && shown.get(parent)?.entry.kind !== "folder") throw belowFileError(path, parent);
    for (const other of shown.keys()) if (isWithin(other, path)) shown.delete(other);
    for (const entry of entries) shown.set(entry.entry.path, entry);
  }
  return [...shown.values()];
}

function countParts(path: string): number {
  return path.split("/").length;
}

function listParents(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

function belowFileError(path: string, parent: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `"${path}" cannot be shown in the agent's home, where "${parent}" is shown as something else than a folder. Take out one of them.`,
  );
}

function unshowableError(path: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The mount ${JSON.stringify(path)} cannot be shown in a Pod, into which nothing of this machine is mounted. ` +
      `Put it into the sandbox's image, or take it out of "mounts" in the configuration file.`,
  );
}
