import { readFile, readlink } from "node:fs/promises";
import { posix } from "node:path";
import type { ContainerRoot } from "./enter-container.ts";
import { createHolds, openPlace, toFacts, toMoved } from "./hold-sources.ts";
import type { HeldMounts, TurnMount } from "./mounts.ts";

/**
 * Checks that a container which has not begun has what was held when its mounts were chosen, each at its place, or throws
 * `WORKSPACE_INVALID`. The engine follows every path again on its own, at a time of its own: who may write a folder on the way
 * can turn it elsewhere in between, and back.
 */
export async function confirmMounts({ absent, mounts }: HeldMounts, root: ContainerRoot | undefined): Promise<void> {
  const table = root && parseMounts(await root.readMounts());
  const right = await Promise.all(
    mounts.map((mount) =>
      // The engine of another machine or kernel cannot be looked into: that the path still leads here is all there is.
      root === undefined || table === undefined ? isStillThere(mount) : isMounted(mount, root.path, table),
    ),
  );
  const wrong = mounts.find((_, index) => right[index] !== true);
  if (wrong !== undefined) throw toMoved(wrong.source?.path ?? wrong.settings.Target);
  await using holds = createHolds();
  for (const { folder, name } of absent) {
    if ((await holds.open(name, folder)) === undefined) continue;
    throw toMoved(`${folder.path}/${name}`, "was not there when the sandbox was made, so that it would not be hidden");
  }
}

type MountTable = {
  /** By the kernel's numbers for them */
  readonly points: ReadonlyMap<string, MountPoint>;
  /** Besides the root */
  readonly targets: ReadonlySet<string>;
};

type MountPoint = { readonly target: string; readonly isReadOnly: boolean };

/** Reads a `mountinfo`. */
function parseMounts(text: string): MountTable {
  const points = new Map<string, MountPoint>();
  for (const line of text.trimEnd().split("\n")) {
    const [id = "", , , , target = "", options = ""] = line.split(" ");
    points.set(id, { target: unescape(target), isReadOnly: options.split(",").includes("ro") });
  }
  const targets = new Set([...points.values()].map(({ target }) => target));
  targets.delete("/");
  return { points, targets };
}

/** Spaces, tabs, ends of lines and backslashes. */
function unescape(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** By what is seen at its target: another mount may lie over it, or over a folder on the way. */
async function isMounted({ settings, source }: TurnMount, root: string, table: MountTable): Promise<boolean> {
  const target = await resolveInImage(root, settings.Target, table.targets);
  const place = await openPlace(root + target).catch(() => undefined);
  if (place === undefined) return false;
  try {
    const [facts, info] = await Promise.all([toFacts(place), readFile(`/proc/self/fdinfo/${place.fd}`, "utf8")]);
    const seen = table.points.get(/^mnt_id:\s*(\d+)$/m.exec(info)?.[1] ?? "");
    const isRight = seen?.target === target && (source === undefined || source.identity === facts.identity);
    return isRight && (settings.ReadOnly !== true || seen.isReadOnly);
  } finally {
    await place.close();
  }
}

const MOST_LINKS = 40;

/** Where the engine mounts it: an image may have links on the way, and what is mounted must have none. */
async function resolveInImage(root: string, target: string, mounted: ReadonlySet<string>): Promise<string> {
  let [path, rest] = ["/", target.split("/").slice(1)];
  for (let links = 0; links <= MOST_LINKS;) {
    const [name, ...others] = rest;
    if (name === undefined) break;
    const next = posix.join(path, name);
    if (mounted.has(next)) return posix.join(next, ...others);
    const link = await readlink(root + next).catch(() => undefined);
    if (link !== undefined) links++;
    if (link?.startsWith("/")) path = "/";
    else if (link === undefined) path = next;
    rest = [...(link ?? "").split("/").filter((part) => part !== ""), ...others];
  }
  return target;
}

/** A second look at the host alone. */
async function isStillThere({ source }: TurnMount): Promise<boolean> {
  if (source === undefined) return true;
  await using holds = createHolds();
  const again = source.isFollowed ? holds.follow(source.path) : holds.open(source.path);
  return (await again.catch(() => undefined))?.identity === source.identity;
}
