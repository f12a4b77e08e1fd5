import type { PodCopy } from "./create-pod-copy.ts";

/** The use of a Pod, which it is not left during. */
export type PodUse = {
  readonly begin: () => void;
  readonly end: () => void;
};

/** Returns a copy whose Pod is in use while it is filled or read: the session would leave a slow one in the middle. */
export function keepInUse(copy: PodCopy, { begin, end }: PodUse): PodCopy {
  return {
    ...copy,
    async fill(...given) {
      begin();
      try {
        return await copy.fill(...given);
      } finally {
        end();
      }
    },
    async *read() {
      begin();
      try {
        yield* copy.read();
      } finally {
        end();
      }
    },
  };
}
