import type { FileHandle } from "node:fs/promises";
import type { StartOptions } from "@budgie/core";
import type { FoundEntry, ReadOptions } from "@budgie/core/copies";
import { findDisk } from "@budgie/core/walk";
import { descriptorPath, type CopyCover } from "@budgie/sandbox/mounts";
import { isUncovered, listFolder, openMount, type ContainerRoot } from "@budgie/sandbox/proc";
import { readListed } from "./read-listed.ts";

/** A sandbox in which the agent has not begun. */
type WaitingSandbox = {
  /** `undefined` if it is not accessible */
  readonly root: ContainerRoot | undefined;
  readonly workspacePath: string;
};

/** The mounts of a turn, perhaps on a copy, with the covers over that. */
type Mounting = {
  readonly copyCovers?: readonly Pick<CopyCover, "path">[] | undefined;
  readonly options: Pick<StartOptions, "access">;
};

/** A session's copy as its last sandbox had it mounted. */
export type HeldCopy = {
  /** Notes that the copy is as a fill made it, or is about to be something else. */
  readonly setFilled: (isFilled: boolean) => void;
  /** Opens the copy in the sandbox of a turn that may change it, to read it once that has ended */
  readonly hold: (sandbox: WaitingSandbox, mounting: Mounting) => Promise<void>;
  /** Reads what is held, once its sandbox has ended, and lets it go. Resolves to `undefined` if the whole copy has to be read in another way */
  readonly read: (reading: HeldReading) => Promise<AsyncGenerator<FoundEntry> | undefined>;
  readonly letGo: () => Promise<void>;
};

type HeldReading = Required<ReadOptions> & {
  /** Reads a file that budgie's own user may not read */
  readonly readAgain: (path: string) => Promise<FoundEntry | undefined>;
};

/** Looks at a folder. */
type Looking = {
  readonly list?: ((folder: FileHandle) => Promise<Buffer | undefined>) | undefined;
  readonly find?: typeof findDisk;
};

/** A moment, by both clocks, at which the copy was as a fill made it. */
type Mark = { readonly clockMs: number; readonly atMs: number };

/**
 * Creates the access to a copy through the kernel, which reads no more than changed since the fill. On a disk of this machine the kernel
 * notes the time of each change, and no agent can set that back. A file server may have another clock, so a copy elsewhere is never held.
 */
export function createHeldCopy(isUsable: boolean, { find = findDisk, list = listFolder }: Looking = {}): HeldCopy {
  let folder: FileHandle | undefined;
  let covers: readonly string[] = [];
  let isFilled = false;
  let mark: Mark | undefined;

  async function letGo(): Promise<void> {
    const held = folder;
    folder = undefined;
    await held?.close();
  }

  async function listEnded(held: FileHandle, at: Mark): Promise<Buffer | undefined> {
    // Something still keeps the ended sandbox's mounts.
    if (wasSetBack(at) || !(await isUncovered(held, covers))) return undefined;
    return list(held);
  }

  /** Returns true if the times of changes in a copy are the kernel's. */
  async function isOnDisk(held: FileHandle, root: ContainerRoot): Promise<boolean> {
    const kind = await find(descriptorPath(held));
    if (kind !== "overlay") return kind === "disk";
    // An overlay keeps what is written in another volume, which the engine has beside the home's.
    await using home = await openMount(root, "/home");
    return home !== undefined && (await find(descriptorPath(home))) === "disk";
  }

  return {
    letGo,
    setFilled(value) {
      isFilled = value;
      mark = undefined;
    },
    async hold({ root, workspacePath }, { copyCovers, options }) {
      await letGo();
      if (copyCovers === undefined || !isUsable) return;
      if (isFilled) mark = { clockMs: Date.now(), atMs: performance.now() };
      isFilled = false;
      covers = copyCovers.map(({ path }) => path);
      // Nobody reads a copy that a turn could not change.
      if (mark === undefined || root === undefined || options.access?.workspace !== "copy") return;
      folder = await openMount(root, workspacePath).catch(() => undefined);
      if (folder !== undefined && !(await isOnDisk(folder, root).catch(() => false))) await letGo();
    },
    async read(reading) {
      const [held, at] = [folder, mark];
      if (held === undefined || at === undefined) return undefined;
      const listing = await listEnded(held, at).catch(() => undefined);
      if (listing !== undefined)
        return endingWith(letGo, readListed(held, listing, { ...reading, sinceMs: at.clockMs }));
      await letGo();
      return undefined;
    },
  };
}

async function* endingWith(end: () => Promise<void>, found: AsyncGenerator<FoundEntry>): AsyncGenerator<FoundEntry> {
  try {
    yield* found;
  } finally {
    await end();
  }
}

const STEP_MS = 25;

/** Returns true if somebody set the clock back since then: what was written afterwards could seem older than it is. */
function wasSetBack({ atMs, clockMs }: Mark): boolean {
  return Date.now() - clockMs < performance.now() - atMs - STEP_MS;
}
