import { LARGEST_FILE_BYTES } from "../objects/object-store.ts";

/** The most that is read and kept of a copy. */
export type SetBounds = {
  /** Entries of the copy, beyond which nothing is collected */
  readonly entries: number;
  /** Changes of a set, beyond which they are only counted */
  readonly changes: number;
  /** Bytes of the paths of a copy, beyond which nothing is collected */
  readonly pathBytes: number;
  /** Bytes of the paths and symlinks' targets of a set, beyond which changes are only counted */
  readonly nameBytes: number;
  /** Contents of a set, beyond which they are not kept */
  readonly bytes: number;
  /** Content of a file */
  readonly fileBytes: number;
};

export const SET_BOUNDS: SetBounds = {
  entries: 500_000,
  changes: 20_000,
  pathBytes: 128 * 1024 * 1024,
  nameBytes: 8 * 1024 * 1024,
  bytes: 256 * 1024 * 1024,
  fileBytes: LARGEST_FILE_BYTES,
};
