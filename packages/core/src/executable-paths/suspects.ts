import type { Stats } from "node:fs";
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

  return {
    privileged,
    outward,
    async look(folder, entries) {
      if (folder.path === ROOT) root = folder;
      const { dev } = await folder.handle.stat();
      const isLocal = locals.get(dev) ?? (await hasLocalClock(folder.at));
      locals.set(dev, isLocal);
      const since = isLocal ? sinceMs : undefined;
      const suspicious = entries.filter(({ type }) => type === "file" || type === "link");
      const links: Buffer[] = [];
      for (const { entry, found } of await lookAtAll(folder, suspicious, { isLocal })) {
        // Gone meanwhile.
        if (typeof found === "string") continue;
        if (since !== undefined && !isSince(found.ctimeMs, since)) continue;
        if (found.isFile() && (found.mode & (SETUID | SETGID)) !== 0) notePrivileged(folder, entry.name, found);
        if (found.isSymbolicLink() && since !== undefined) links.push(entry.name);
      }
      await folder.forEach(links, (name) => noteLink(folder, name));
    },
  };
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
