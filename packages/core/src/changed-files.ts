/** The kind of a change, as the watch saw it. `came-and-went`: names in a folder did, and none of them is left to be named. */
export type ChangeKind = "created" | "changed" | "mode" | "link" | "removed" | "came-and-went";

/** A file, link or folder that somebody changed during a turn. */
export type ChangedFile = {
  /** Relative to the directory and printable; a folder ends with `/` */
  readonly path: string;
  /** `mode`: nothing but the mode; `changed` may be the mode too where the content was not compared */
  readonly kind: ChangeKind;
  /** The size of a file in bytes, afterwards */
  readonly size?: number | undefined;
  /** True if the host runs it by itself, or it has another's rights, or leads out of the directory */
  readonly isFlagged?: true;
};

/** The changes of a directory during a turn, whoever made them. */
export type ChangedFiles = {
  /** The first changes, the flagged ones at the top */
  readonly first: readonly ChangedFile[];
  /** The number of all files that were created, changed or removed */
  readonly files: number;
  /** The number of changes that `first` leaves out */
  readonly more: number;
  /** The reason why there may be others; left out if there are none */
  readonly unknown?: string | undefined;
};
