// The public surface of @budgie/core/walk: every export is named here, and becomes API.
export { toPathKey, type FolderPath } from "./folder-path.ts";
export { createFolderChain, type FolderChain } from "./folder-chain.ts";
export { forEachOf } from "./for-each-of.ts";
export { formatPath } from "./format-path.ts";
export { findDisk, isLocalFolder } from "./is-local-folder.ts";
export { closeFolder, openChildFolder, openRootFolder, pathIn, type FolderHandle } from "./open-folder.ts";
export { statEntries, type Looked } from "./stat-entries.ts";
export { SYSTEM_PATH } from "./system-path.ts";
export { MOST_LEVELS, walkWorkspace, type Entry, type Next, type VisitedFolder } from "./walk-workspace.ts";
