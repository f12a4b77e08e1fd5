import { fstatSync, type Stats } from "node:fs";
import { readlink } from "node:fs/promises";
import { hasLocalClock } from "../has-local-clock.ts";
import { isSince } from "../is-since.ts";
import { ROOT, toPathKey } from "../walk/folder-path.ts";
import { toPathIn, type HeldFolder } from "../walk/held-folder.ts";
import { lookAtAll } from "../walk/look-at-all.ts";
import type { Entry, VisitedFolder } from "../walk/walk-workspace.ts";
import { leadsOutside } from "./leads-outside.ts";

/** Finds what is dangerous by its kind rather than by its name, and from this turn. */
export type Suspects = {
  /** Looks at some of what is in a folder; the root comes first */
  readonly look: (folder: VisitedFolder, entries: readonly Entry[]) => Promise<void>;
  /** Whether a time of a file is from this turn; `false` if that cannot be told */
  readonly isNew: (ctimeMs: number) => boolean;
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
  const [privileged, outward] = [createList<Privileged>(), createList<Outward>()];
  const locals = new Map<number, boolean>();
  let root: HeldFolder | undefined;

  async function noteLink(folder: VisitedFolder, name: Buffer): Promise<void> {
    // Gone meanwhile, if it cannot be read.
    const target = await readlink(toPathIn(folder, name), "buffer").catch(() => undefined);
    if (target === undefined || root === undefined) return;
    if (!(await leadsOutside(target, { root, workspace, folder: folder.path }))) return;
    outward.add({ path: toPathKey(folder.path, name), target: target.toString("latin1") });
  }

  function notePrivileged(folder: VisitedFolder, name: Buffer, { gid, mode, uid }: Stats): void {
    const bit = (mode & SETUID) === 0 ? "setgid" : "setuid";
    privileged.add({ path: toPathKey(folder.path, name), bit, id: bit === "setuid" ? uid : gid });
  }

  /** Whether the times of what is in a folder can be compared with this machine's. */
  async function isTimed({ at, fd }: VisitedFolder): Promise<boolean> {
    const { dev } = fstatSync(fd);
    const known = locals.get(dev) ?? (await hasLocalClock(at));
    locals.set(dev, known);
    return known;
  }

  return {
    isNew: (ctimeMs) => sinceMs !== undefined && isSince(ctimeMs, sinceMs),
    privileged,
    outward,
    async look(folder, entries) {
      if (folder.path === ROOT) root = folder;
      const isLocal = await isTimed(folder);
      const since = isLocal ? sinceMs : undefined;
      const looked = await lookAtAll(folder, entries.filter(isFileOrLink), { isLocal });
      const found = looked.flatMap((one) => (isFrom(one.found, since) ? [{ ...one.entry, stats: one.found }] : []));
      for (const { name, stats } of found) if (isPrivileged(stats)) notePrivileged(folder, name, stats);
      const links = since === undefined ? [] : found.filter(({ stats }) => stats.isSymbolicLink());
      await folder.forEach(links, ({ name }) => noteLink(folder, name));
    },
  };
}

function isFileOrLink({ type }: Entry): boolean {
  return type === "file" || type === "link";
}

/** Whether something is there still, and from then or later; of any time if there is none to tell by. */
function isFrom(found: Stats | string, sinceMs: number | undefined): found is Stats {
  return typeof found !== "string" && (sinceMs === undefined || isSince(found.ctimeMs, sinceMs));
}

function isPrivileged(stats: Stats): boolean {
  return stats.isFile() && (stats.mode & (SETUID | SETGID)) !== 0;
}

const SETUID = 0o4000;
const SETGID = 0o2000;
const MOST = 200;

function createList<Item>(): Listed<Item> & { readonly add: (item: Item) => void } {
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
