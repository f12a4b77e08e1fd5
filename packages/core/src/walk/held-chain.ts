import { toChain, type FolderPath } from "./folder-path.ts";
import { letGo, type HeldFolder, type OpenFolder } from "./held-folder.ts";

/** The folders that are held on the way to one of them. */
export type HeldChain = {
  /** Holds this one instead; the one before is given up, but for the parents that both have */
  readonly hold: (path: FolderPath) => Promise<HeldFolder>;
  readonly close: () => void;
};

/** Reaches the folders of a walk one after another, each step through its held parent. */
export function createHeldChain(root: HeldFolder, open: OpenFolder): HeldChain {
  const held: { readonly path: FolderPath; readonly folder: HeldFolder }[] = [];

  function giveUpFrom(index: number): void {
    for (const { folder } of held.splice(index)) letGo(folder);
  }

  return {
    async hold(path) {
      const steps = toChain(path).slice(1);
      const common = steps.findIndex((step, index) => held[index]?.path !== step);
      giveUpFrom(common === -1 ? steps.length : common);
      for (const step of steps.slice(held.length)) {
        const parent = held.at(-1)?.folder ?? root;
        held.push({ path: step, folder: await open(parent, Buffer.from(step.name, "latin1")) });
      }
      return held.at(-1)?.folder ?? root;
    },
    close() {
      giveUpFrom(0);
      letGo(root);
    },
  };
}
