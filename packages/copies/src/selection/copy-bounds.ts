/** The most that a copy may have, which is refused before anything is sent. */
export type CopyBounds = {
  readonly entries: number;
  readonly bytes: number;
  /** The size of a `.git` folder above which the copy does without it */
  readonly gitBytes: number;
};

/** The bounds of a copy. */
export const LARGEST_COPY: CopyBounds = { entries: 200_000, bytes: 2 * 1024 ** 3, gitBytes: 512 * 1024 ** 2 };
