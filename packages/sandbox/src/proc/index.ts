// The public surface of @budgie/sandbox/proc: every export is named here, and becomes API.
export { confirmMounts } from "./confirm-mounts.ts";
export { listFolder, parseListing, type ListedEntry } from "./list-folder.ts";
export { lookAt, type PathKind } from "./look-at.ts";
export { measureFolder } from "./measure-folder.ts";
export { isUncovered, openMount } from "./open-mount.ts";
export { openProcessRoot } from "./open-process-root.ts";
export type { ContainerRoot, OpenRoot } from "./open-root.ts";
export { watchDisk } from "./watch-disk.ts";
