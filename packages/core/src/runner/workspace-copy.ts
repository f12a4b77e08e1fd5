import type { Readable } from "node:stream";

/** An entry of a directory tree. Its path is relative, separated by "/", valid UTF-8, without empty, "." and ".." parts. */
export type TreeEntry =
  | TreeFolder
  | TreeLink
  | (TreeFile & { /** SHA-256 of the content, in hex */ readonly digest: string });

export type TreeFolder = {
  readonly path: string;
  readonly kind: "folder";
  /** Permission bits */ readonly mode: number;
};
export type TreeLink = { readonly path: string; readonly kind: "link"; readonly target: string };
/** A file whose content was not read yet. */
export type TreeFile = {
  readonly path: string;
  readonly kind: "file";
  /** Permission bits */
  readonly mode: number;
  readonly size: number;
};

/** A listing of a tree, sorted by the bytes of its paths, so that a folder comes before its entries. */
export type Manifest = { readonly entries: readonly TreeEntry[] };

/** An entry on its way into a copy, with the content of a file. */
export type FilledEntry = {
  readonly entry: TreeFolder | TreeLink | TreeFile;
  readonly content?: Buffer | Readable | undefined;
  /** The time of its last change, which git compares in whole seconds; default now */
  readonly mtimeMs?: number | undefined;
};

/**
 * An entry of a copy that an agent wrote. The content of a file has to be read, or destroyed, before the next entry. `other` is neither
 * file, folder nor link, and a path need not be what {@link TreeEntry} promises.
 */
export type FoundEntry = {
  readonly entry: TreeFolder | TreeLink | TreeFile | { readonly path: string; readonly kind: "other" };
  readonly content?: Readable | undefined;
};

export type ReadOptions = {
  /**
   * Gets each file that is as the fill made it, which no agent can claim, in its place among the entries. Returns true if it takes the file:
   * that is not yielded then. Default: none is taken
   */
  readonly take?: (file: TreeFile) => boolean;
};

/** A base that several copies share: it is written once, and each copy has it below its own changes. */
export type CopyBase = {
  /** The digest of the directory's path and of all that the base has */
  readonly id: string;
  readonly directory: string;
  /** Read if there is no base with this id yet */
  readonly entries: () => AsyncIterable<FilledEntry>;
};

/** The volume in which a session's processes work in place of the host's directory. */
export type WorkspaceCopy = {
  /** Resolves to the id of the last fill, which need not have come to its end; `undefined` if there is nothing */
  fillId(): Promise<string | undefined>;
  /** Fills it from nothing, and resolves to the id of this fill */
  fill(entries: AsyncIterable<FilledEntry>, options?: { readonly signal?: AbortSignal | undefined }): Promise<string>;
  /** Fills it from nothing with a base. Resolves to `undefined` if the engine cannot do that; left out if no engine of the runner can */
  fillOver?(base: CopyBase, options?: { readonly signal?: AbortSignal | undefined }): Promise<string | undefined>;
  /** Reads it. No process of the session may run meanwhile */
  read(options?: ReadOptions): AsyncIterable<FoundEntry>;
};
