import { listChain, type FolderPath } from "./folder-path.ts";
import { closeFolder, type FolderHandle, type OpenFolder } from "./open-folder.ts";

/** The open descriptors of a folder and its parents. */
export type FolderChain = {
  /** Opens a folder and its parents, and closes those of the previous folder except for common ones */
  readonly hold: (path: FolderPath) => Promise<FolderHandle>;
  readonly close: () => void;
};

/** Opens the folders of a walk one after another, each through its open parent. */
export function createFolderChain(root: FolderHandle, open: OpenFolder): FolderChain {
  const held: { readonly path: FolderPath; readonly folder: FolderHandle }[] = [];

  function giveUpFrom(index: number): void {
    for (const { folder } of held.splice(index)) closeFolder(folder);
  }

  return {
    async hold(path) {
      const steps = listChain(path).slice(1);
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
      closeFolder(root);
    },
  };
}
