// The public surface of @budgie/copies/selection: every export is named here, and becomes API.
export type { UserGit } from "../git/load-repository.ts";
export { compareByBytes } from "./entry-sink.ts";
export type { LeftOut } from "./left-out.ts";
export { readEntries, TORN, type ReadProgress } from "./read-entries.ts";
export { selectEntries } from "./select-entries.ts";
export type { CopyFiles, CopyWishes, Selection } from "./selection.ts";
