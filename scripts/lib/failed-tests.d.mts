type FailedFile = {
  readonly path: string;
  readonly project: string;
  readonly failures: readonly { readonly title: string; readonly text: string; readonly isLate: boolean }[];
};

/** The failed files of a run, and the number of errors that belong to no file. */
type Report = { readonly files: readonly FailedFile[]; readonly unhandled: number };

/** Returns the files to run once more, or the reason why the run has failed. */
export function toVerdict(
  report: Report | undefined,
  most: number,
): { readonly again: readonly FailedFile[]; readonly why?: string };
