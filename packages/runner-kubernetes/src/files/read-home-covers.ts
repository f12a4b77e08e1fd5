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
  /** Entries that are shown at their own path on the host, below the Pod's path for them */
  readonly shown: readonly FilledEntry[];
};

/** The paths of a Pod. */
export type ShownPlace = {
  /** The path of `findShownPath`, with which the Pod was made; default none */
  readonly shownPath?: string | undefined;
};

/**
 * Reads what a command shows and hides, as the mounts of a container would: each projection in the home and at its own path on the host, and in a
 * hidden folder of the home only its cover's files and projections. Nothing outside `shownPath` is shown at its own path: a projection
 * that is required and has no other throws `CONFIG_INVALID`. Throws as `holdProjection` does, and `CONFIG_INVALID` for more files or bytes
 * than are sent.
 */
export async function readHomeCovers(
  command: Pick<Command, "hidden" | "projections">,
  place: ShownPlace = {},
): Promise<HomeCovers> {
  const { inHome, shown } = await readLayers(command.projections, place);
  for (const [path, cover] of Object.entries(splitHidden(command).ofHome))
    // If the user's own folder is shown as a whole, there is nothing to hide.
    if (!inHome.has(path)) inHome.set(path, listCover(path, cover));
  const paths = [...inHome.keys()];
  return {
    paths: paths.filter((path) => !paths.some((other) => other !== path && isWithin(path, other))),
    entries: stack(inHome),
    shown: stack(shown),
  };
}

/** Entries by the path at which they are laid over others. */
type Layers = Map<string, readonly FilledEntry[]>;

/** Reads the projections. The first one at a path wins. */
async function readLayers(projections: readonly Projection[], place: ShownPlace) {
  await using heldSources = createHeldSources();
  const [inHome, shown]: [Layers, Layers] = [new Map(), new Map()];
  const room = createProjectionRoom();
  for (const projection of projections) {
    const places = [
      { layers: inHome, path: toHomePath(projection) },
      { layers: shown, path: toShownPath(projection, place) },
    ].filter(({ layers, path }) => path !== undefined && !layers.has(path));
    if (places.length === 0) continue;
    const source = await holdProjection(heldSources, projection);
    if (source?.kind !== "file" && source?.kind !== "folder") continue;
    const entries = await readProjection(source, room);
    for (const { layers, path = "" } of places) layers.set(path, moveTo(path, entries));
  }
  return { inHome, shown };
}

/** Returns the path of a projection below the home; `undefined` for one that has none there. */
function toHomePath({ home, source }: Projection): string | undefined {
  if (home === undefined) return undefined;
  const path = posix.join(home, ".");
  if (isHomePath(path)) return path;
  throw new BudgieError(
    "CONFIG_INVALID",
    `${JSON.stringify(source)} cannot be shown at ${JSON.stringify(home)}, which is not the path of a file in a home.`,
  );
}

/** Returns the path of a projection below the Pod's path for the host's files; `undefined` for one that can be left out there. */
function toShownPath({ home, isRequired, source }: Projection, { shownPath }: ShownPlace): string | undefined {
  const path = posix.join(source, ".");
  if (shownPath !== undefined && path.startsWith(`${shownPath}/`)) {
    const below = path.slice(shownPath.length + 1);
    if (isHomePath(below)) return below;
  }
  if (isRequired === true && home === undefined) throw unshowableError(source, shownPath);
  return undefined;
}

/** Returns entries below a path, without those whose path is too long there. */
function moveTo(path: string, entries: readonly FilledEntry[]): readonly FilledEntry[] {
  const moved = entries.map(({ content, entry }) => ({
    content,
    entry: { ...entry, path: posix.join(path, entry.path) },
  }));
  return moved.filter(({ entry }) => isHomePath(entry.path));
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
function stack(layers: Layers): readonly FilledEntry[] {
  const shown = new Map<string, FilledEntry>();
  for (const [path, entries] of [...layers].toSorted(([a], [b]) => countParts(a) - countParts(b))) {
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
    `"${path}" cannot be shown to the agent where "${parent}" is shown as something else than a folder. Take out one of them.`,
  );
}

function unshowableError(path: string, shownPath: string | undefined): BudgieError {
  const where = shownPath === undefined ? "" : ` but what is below ${JSON.stringify(shownPath)}`;
  return new BudgieError(
    "CONFIG_INVALID",
    `The mount ${JSON.stringify(path)} cannot be shown in a Pod, into which nothing of this machine is mounted${where}. ` +
      `Put it into the sandbox's image, or take it out of "mounts" in the configuration file.`,
  );
}
