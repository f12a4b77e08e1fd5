import { formatCount } from "@budgie/core/text";

/** The progress of one fill. */
export type CopyProgress = {
  readonly tell: (done: number, all: number) => void;
  readonly end: () => void;
};

const EVERY_MS = 1000;

/** Tells the progress of a fill at once and then each second. */
export function createCopyProgress(onProgress: ((text: string) => void) | undefined): CopyProgress {
  let text = "looking at the directory";
  const tellNow = (): void => onProgress?.(text);
  tellNow();
  const timer = setInterval(tellNow, EVERY_MS);
  timer.unref();
  return {
    tell: (done, all) => void (text = `copying ${formatCount(done)} of ${formatCount(all)} files`),
    end: () => clearInterval(timer),
  };
}
