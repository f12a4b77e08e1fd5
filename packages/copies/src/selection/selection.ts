import type { TreeFile, TreeFolder, TreeLink } from "@budgie/core/copies";
import type { FolderPath } from "@budgie/core/walk";
import type { LeftOutList } from "./left-out.ts";

/** The files of a copy besides the tracked ones: those that git does not ignore, all, or none. */
export type CopyFiles = "unignored" | "all" | "tracked";

/** The user's wishes for copies of a directory. */
export type CopyWishes = {
  readonly files: CopyFiles;
  /** Patterns like those of a `.gitignore`, from the copied directory: what is copied although it is ignored or named like a secret */
  readonly include: readonly string[];
  /** True if the patterns of the directory's own `.worktreeinclude` count as well, below those of `include` */
  readonly worktreeInclude: boolean;
  /** Patterns of what is never copied */
  readonly exclude: readonly string[];
};

/** An entry that a copy gets, and where it is read. */
export type SelectedEntry = {
  readonly entry: TreeFolder | TreeLink | TreeFile;
  /** The folder from which `folder` leads; default the directory. It is that of a worktree's git */
  readonly root?: string | undefined;
  /** The folder that it is in, and its name there */
  readonly folder: FolderPath;
  readonly name: Buffer;
  readonly mtimeMs: number;
  /** The facts by lstat of a file, which change whenever the file does; left out for a content in its place */
  readonly seen?: { readonly inode: number; readonly changedMs: number } | undefined;
  /** Content in place of the file's own */
  readonly content?: Buffer | undefined;
};

/** The entries of a directory that a copy gets, sorted by the bytes of their paths. */
export type Selection = {
  readonly directory: string;
  readonly entries: readonly SelectedEntry[];
  readonly bytes: number;
  readonly leftOut: LeftOutList;
};
