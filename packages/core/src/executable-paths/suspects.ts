import { lstat, readlink } from "node:fs/promises";
import type { Stats } from "node:fs";
import { hasLocalClock } from "../has-local-clock.ts";
import { isSince } from "../is-since.ts";
import { ROOT, toPathKey } from "../walk/folder-path.ts";
import { toPathIn, type HeldFolder } from "../walk/held-folder.ts";
import type { Entry, VisitedFolder } from "../walk/walk-workspace.ts";
import { leadsOutside } from "./leads-outside.ts";

/** Finds what is dangerous by its kind rather than by its name, and from this turn. */
export type Suspects = {
  /** Looks at some of what is in a folder; the root comes first */
  readonly look: (folder: VisitedFolder, entries: readonly Entry[]) => Promise<void>;
  /** Files that run with the rights of their owner or group */
  readonly privileged: Listed<Privileged>;
  /** Links that lead out of the workspace */
  readonly outward: Listed<Outward>;
};

/** The first of what was found, and how many there are. */
export type Listed<Item> = { readonly first: readonly Item[]; readonly count: number };

export type Privileged = { readonly path: string; readonly bit: "setuid" | "setgid"; readonly id: number };
export type Outward = { readonly path: string; readonly target: string };

/**
 * Looks for suspects in the folders of one walk; `sinceMs` is `undefined` if it cannot be told what is new. Then, as on a
 * file system with a clock of its own, every file with such rights counts, of which there are hardly any, and no link.
 */
export function createSuspects(workspace: string, sinceMs: number | undefined): Suspects {
  const [privileged, outward] = [toList<Privileged>(), toList<Outward>()];
  const clocks = new Map<number, boolean>();
  let root: HeldFolder | undefined;

  async function isTimed(folder: VisitedFolder, dev: number): Promise<boolean> {
    const isLocal = clocks.get(dev) ?? (await hasLocalClock(folder.at).catch(() => false));
    clocks.set(dev, isLocal);
    return isLocal && sinceMs !== undefined;
  }

  async function lookAt(folder: VisitedFolder, { name, type }: Entry): Promise<void> {
    // Gone meanwhile, if it cannot be looked at.
    const stats = await lstat(toPathIn(folder, name)).catch(() => undefined);
    const bit = stats && toBit(stats);
    if (stats === undefined || (type === "file" && bit === undefined)) return;
    const isNew = (await isTimed(folder, stats.dev)) ? isSince(stats.ctimeMs, sinceMs ?? 0) : type === "file";
    if (!isNew) return;
    const path = toPathKey(folder.path, name);
    if (bit !== undefined) return privileged.add({ path, bit, id: bit === "setuid" ? stats.uid : stats.gid });
    const target = await readlink(toPathIn(folder, name), "buffer").catch(() => undefined);
    if (target === undefined || root === undefined) return;
    if (await leadsOutside(target, { root, workspace, folder: folder.path })) {
      outward.add({ path, target: target.toString("latin1") });
    }
  }

  return {
    privileged,
    outward,
    async look(folder, entries) {
      if (folder.path === ROOT) root = folder;
      const looked = entries.filter(({ type }) => type === "file" || type === "link");
      await Promise.all(looked.map((entry) => lookAt(folder, entry)));
    },
  };
}

const MOST = 200;

function toList<Item>(): Listed<Item> & { readonly add: (item: Item) => void } {
  const first: Item[] = [];
  let count = 0;
  return {
    first,
    get count() {
      return count;
    },
    add(item) {
      count += 1;
      if (first.length < MOST) first.push(item);
    },
  };
}

function toBit(stats: Stats): Privileged["bit"] | undefined {
  if (!stats.isFile()) return undefined;
  if ((stats.mode & 0o4000) !== 0) return "setuid";
  return (stats.mode & 0o2000) === 0 ? undefined : "setgid";
}
