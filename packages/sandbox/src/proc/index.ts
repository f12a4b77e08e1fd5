// The public surface of @budgie/sandbox/proc: every export is named here, and becomes API.
export { confirmMounts } from "./confirm-mounts.ts";
export { lookAt, type PathKind } from "./look-at.ts";
export { openProcessRoot } from "./open-process-root.ts";
export type { ContainerRoot, OpenRoot } from "./open-root.ts";
export { watchDisk } from "./watch-disk.ts";
