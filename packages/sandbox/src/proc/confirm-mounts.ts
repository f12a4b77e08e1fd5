import { readlink } from "node:fs/promises";
import { posix } from "node:path";
import { parseMounts, type Mount } from "@budgie/core/policy";
import { readMountId } from "./open-mount.ts";
import type { ContainerRoot } from "./open-root.ts";
import { createHeldSources, openPath, readFacts, movedError } from "../mounts/held-sources.ts";
import type { HeldMounts } from "../mounts/held-mounts.ts";
import type { SandboxMount } from "../mounts/mount-settings.ts";

/**
 * Throws `WORKSPACE_INVALID` unless a container whose agent has not started has exactly the held sources mounted. The engine resolves each
 * path again, so a program that may write to a parent folder could swap it in between, and swap it back.
 */
export async function confirmMounts({ absent, mounts }: HeldMounts, root: ContainerRoot | undefined): Promise<void> {
  const table = root && parseTable(await root.readMounts());
  const right = await Promise.all(
    mounts.map((mount) =>
      // With an engine on another machine or kernel, only the host's paths can be checked.
      root === undefined || table === undefined ? isStillThere(mount) : isMounted(mount, root.path, table),
    ),
  );
  const wrong = mounts.find((_, index) => right[index] !== true);
  if (wrong !== undefined) throw movedError(wrong.source?.path ?? wrong.settings.target);
  await using heldSources = createHeldSources();
  for (const { folder, name } of absent) {
    if ((await heldSources.open(name, folder)) === undefined) continue;
    throw movedError(`${folder.path}/${name}`, "appeared while the sandbox was made, so it would not be hidden");
  }
}

type MountTable = {
  readonly mounts: readonly Mount[];
  /** All mount points but the root */
  readonly targets: ReadonlySet<string>;
};

function parseTable(mountinfo: string): MountTable {
  const mounts = parseMounts(mountinfo);
  return { mounts, targets: new Set(mounts.map(({ point }) => point).filter((point) => point !== "/")) };
}

/** Checks a mount by opening its target, since another mount may cover it or one of its parents. */
async function isMounted({ settings, source }: SandboxMount, root: string, table: MountTable): Promise<boolean> {
  const target = await resolveInImage(root, settings.target, table.targets);
  const place = await openPath(root + target).catch(() => undefined);
  if (place === undefined) return false;
  try {
    const [facts, id] = await Promise.all([readFacts(place), readMountId(place)]);
    const seen = table.mounts.find((mount) => mount.id === id);
    const isRight = seen?.point === target && (source === undefined || source.identity === facts.identity);
    return isRight && (!settings.isReadOnly || seen.isReadOnly);
  } finally {
    await place.close();
  }
}

const MOST_LINKS = 40;

/** Resolves a target like the engine: it follows symlinks of the image, and none inside a mount. */
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

/** Checks that the source is still at its path on the host. */
async function isStillThere({ source }: SandboxMount): Promise<boolean> {
  if (source === undefined) return true;
  await using heldSources = createHeldSources();
  const again = source.isFollowed ? heldSources.follow(source.path) : heldSources.open(source.path);
  return (await again.catch(() => undefined))?.identity === source.identity;
}
