// The public surface of @budgie/sandbox/home: every export is named here, and becomes API.
export { foldersOf } from "./folders-of.ts";
export {
  foldersInHome,
  isFile,
  listFolders,
  type ArchiveEntry,
  type ArchiveFile,
  type HomeArchive,
  type Saving,
} from "./home-archive.ts";
export { createHomeFiles } from "./home-files.ts";
export { createHomeSeeds } from "./home-seeds.ts";
export { readStart, takeStart } from "./read-start.ts";
