import { renameSync, symlinkSync, unlinkSync } from "node:fs";

/** A swap of a path for a symlink, as another agent makes one between a check and a use. */
export type Swap = { readonly swap: () => void; readonly restore: () => void };

/** Creates a swap of `path` for a symlink to `target`. Meanwhile the original has the suffix `-aside`. */
export function createSwap(path: string, target: string): Swap {
  const aside = `${path}-aside`;
  return {
    swap() {
      renameSync(path, aside);
      symlinkSync(target, path);
    },
    restore() {
      unlinkSync(path);
      renameSync(aside, path);
    },
  };
}
