/** A file to write into a session's volumes. */
export type ArchiveFile = {
  /** Absolute, below `/home/agent` or `/auth` */
  readonly path: string;
  readonly content: Buffer | HostFile;
  readonly mode: number;
};

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
  /** Saves the regular files among `names` to a folder, and returns their names. Throws `SESSION_UNUSABLE` if they are too large, or for a planted symlink. */
  saveFiles(folder: string, names: readonly string[], saving: Saving): Promise<ReadonlySet<string>>;
  /** Creates a new home, and writes files into it, as well as the folders of both. Only for volumes that no agent has used. */
  create(files: readonly ArchiveFile[]): Promise<void>;
  /** Throws `SESSION_UNUSABLE` if one of these mount points is a symlink in the home, or below one: the engine would follow it. */
  checkMountPoints(paths: readonly string[]): Promise<void>;
  /** Writes files, and creates their folders. Throws `SESSION_UNUSABLE` if a parent of one is not a folder, such as a symlink. */
  write(files: readonly ArchiveFile[]): Promise<void>;
};
