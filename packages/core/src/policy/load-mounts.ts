import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { BudgieError } from "../errors.ts";
import { isWithin } from "./is-within.ts";

/** One mount of a mount table. */
export type Mount = {
  /** The mount id, as in a descriptor's `fdinfo` */
  readonly id: string;
  /** Device number of the file system; mounts with the same number show the same files */
  readonly device: string;
  /** The mounted directory, as a path in that file system */
  readonly root: string;
  readonly point: string;
  readonly isReadOnly: boolean;
};

const FILE = "/proc/self/mountinfo";

/** Loads the mounts of this process, or throws `WORKSPACE_INVALID` if `/proc` cannot be read. Empty where there are no bind mounts. */
export async function loadMounts(): Promise<readonly Mount[]> {
  if (process.platform !== "linux") return [];
  try {
    return parseMounts(await readFile(FILE, "utf8"));
  } catch (cause) {
    throw new BudgieError(
      "WORKSPACE_INVALID",
      `"${FILE}" cannot be read (${(cause as NodeJS.ErrnoException).code}), so budgie cannot tell which directories are mounted elsewhere too. Mount /proc.`,
      { cause },
    );
  }
}

/** Parses a `mountinfo`. Mounts without a path, such as namespaces, are left out. */
export function parseMounts(text: string): readonly Mount[] {
  return text
    .split("\n")
    .map((line) => line.split(" ", 6).map(unescape))
    .map(([id = "", , device = "", root = "", point = "", options = ""]) => {
      return { id, device, root, point, isReadOnly: options.split(",").includes("ro") };
    })
    .filter(({ point, root }) => root.startsWith("/") && point.startsWith("/"));
}

/** Decodes spaces, tabs, line feeds and backslashes, which are written as octal numbers. */
function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** Another path on this machine that shows files of a directory. */
export type ShownPlace = {
  readonly path: string;
  /** The mount point that shows them there */
  readonly point: string;
};

/** Lists the other places that show a directory's files, or those of a mount below it: an engine mounts both. */
export function listShownPlaces(directory: string, mounts: readonly Mount[]): readonly ShownPlace[] {
  const below = mounts.filter(({ point }) => point !== directory && isWithin(point, directory));
  return [...findViews(directory, mounts), ...below].flatMap((view) => listPlaces(view, mounts));
}

/** Lists the other names of a directory itself. */
export function listOtherNames(directory: string, mounts: readonly Mount[]): readonly string[] {
  const places = findViews(directory, mounts).flatMap(({ device, root }) =>
    mounts.filter((mount) => mount.device === device && isWithin(root, mount.root)).map((mount) => rebase(root, mount)),
  );
  return places.map(({ path }) => path);
}

type View = Pick<Mount, "device" | "root">;

/** Finds the directory's path in its file system. If several mounts share a mount point, the last one counts. */
function findViews(directory: string, mounts: readonly Mount[]): readonly View[] {
  const [mount] = mounts
    .filter(({ point }) => isWithin(directory, point))
    .toReversed()
    .toSorted((a, b) => b.point.length - a.point.length);
  if (mount === undefined) return [];
  return [{ device: mount.device, root: join(mount.root, relative(mount.point, directory)) }];
}

function listPlaces({ device, root }: View, mounts: readonly Mount[]): readonly ShownPlace[] {
  return mounts
    .filter((mount) => mount.device === device)
    .flatMap((mount) => {
      if (isWithin(root, mount.root)) return [rebase(root, mount)];
      return isWithin(mount.root, root) ? [{ path: mount.point, point: mount.point }] : [];
    });
}

function rebase(root: string, mount: Mount): ShownPlace {
  return { path: join(mount.point, relative(mount.root, root)), point: mount.point };
}
