import { SANDBOX } from "../profile/sandbox-paths.ts";
import { foldersOf } from "./folders-of.ts";

/** A file to write into a session's volumes. */
export type ArchiveFile = {
  /** Absolute, below `/home/agent` or `/auth` */
  readonly path: string;
  readonly content: Buffer | HostFile;
  readonly mode: number;
};

/** A folder to create in a session's home that belongs to the agent. */
type ArchiveFolder = { readonly path: string; readonly content: "folder" };

export type ArchiveEntry = ArchiveFile | ArchiveFolder;

/** Content in a file of the host, which may be too large for memory. It must exist until the write ends. */
export type HostFile = { readonly path: string; readonly bytes: number };

export type Saving = {
  /** An existing folder of the host */
  readonly to: string;
  /** For all files together */
  readonly maxBytes: number;
};

/**
 * Access to a session's volumes through its container. A symlink that the agent put into its home resolves inside that
 * container, which mounts nothing else of the host but the proxy socket's folder, read-only.
 */
export type HomeArchive = {
  /** Reads the first `maxBytes` of a regular file in the home; `undefined` if it is missing, anything else, or below a symlink. */
  readFile(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /**
   * Saves the regular files among `names` to a folder, and returns their names. Throws `SESSION_UNUSABLE` if they are too large, or for a
   * planted symlink.
   */
  saveFiles(folder: string, names: readonly string[], saving: Saving): Promise<ReadonlySet<string>>;
  /** Creates a new home, and writes files and folders into it, with their parents. Only for volumes that no agent has used. */
  create(entries: readonly ArchiveEntry[]): Promise<void>;
  /** Throws `SESSION_UNUSABLE` if one of these mount points is a symlink in the home, or below one: the engine would follow it. */
  checkMountPoints(paths: readonly string[]): Promise<void>;
  /**
   * Writes files and folders, with their parents. Throws `SESSION_UNUSABLE` if a folder on the way is something else, such as a symlink.
   */
  write(entries: readonly ArchiveEntry[]): Promise<void>;
};

/** Returns true if an entry is a file, and not a folder. */
export function isFile(entry: ArchiveEntry): entry is ArchiveFile {
  return entry.content !== "folder";
}

/** Lists the home, the folders among the entries and the parents of all, each before its children. */
export function listFolders(entries: readonly ArchiveEntry[]): readonly string[] {
  const folders = entries.flatMap((entry) => [...foldersInHome(entry.path), ...(isFile(entry) ? [] : [entry.path])]);
  return [...new Set([SANDBOX.home, ...folders])].toSorted();
}

/** Lists the parents of a file that the agent could have replaced. */
export function foldersInHome(path: string): readonly string[] {
  return foldersOf(path).filter((folder) => folder.startsWith("/home/"));
}
