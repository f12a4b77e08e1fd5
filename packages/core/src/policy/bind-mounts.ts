import { join, relative } from "node:path";
import { isWithin } from "./is-within.ts";
import type { Mount } from "./mount-table.ts";

/** Another path on this machine that shows files of a directory. */
export type ShownPlace = {
  readonly path: string;
  /** The mount point that shows them there */
  readonly point: string;
};

/** Lists the other places that show a directory's files, or those of a mount below it: an engine mounts both. */
export function toShownPlaces(directory: string, mounts: readonly Mount[]): readonly ShownPlace[] {
  const below = mounts.filter(({ point }) => point !== directory && isWithin(point, directory));
  return [...toView(directory, mounts), ...below].flatMap((view) => toPlaces(view, mounts));
}

/** Lists the other names of a directory itself. */
export function toOtherNames(directory: string, mounts: readonly Mount[]): readonly string[] {
  const places = toView(directory, mounts).flatMap(({ device, root }) =>
    mounts.filter((mount) => mount.device === device && isWithin(root, mount.root)).map((mount) => rebase(root, mount)),
  );
  return places.map(({ path }) => path);
}

type View = Pick<Mount, "device" | "root">;

/** Finds the directory's path in its file system. Of mounts on one point, the last one counts. */
function toView(directory: string, mounts: readonly Mount[]): readonly View[] {
  const [mount] = mounts
    .filter(({ point }) => isWithin(directory, point))
    .toReversed()
    .toSorted((a, b) => b.point.length - a.point.length);
  if (mount === undefined) return [];
  return [{ device: mount.device, root: join(mount.root, relative(mount.point, directory)) }];
}

function toPlaces({ device, root }: View, mounts: readonly Mount[]): readonly ShownPlace[] {
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
