/** The bytes that one party, or all together, may have pending. */
export type ByteBudget = {
  /** Takes bytes, also from the budget that this one is part of; `false` if either has too few left. */
  readonly tryTake: (bytes: number) => boolean;
  readonly giveBack: (bytes: number) => void;
  /** Gives all bytes back that were taken, and has none any more. */
  readonly end: () => void;
};

/** Creates a budget. */
export function createByteBudget(most: number, whole?: ByteBudget): ByteBudget {
  let taken = 0;
  let isEnded = false;

  function giveBack(bytes: number): void {
    if (isEnded) return;
    taken -= bytes;
    whole?.giveBack(bytes);
  }

  return {
    tryTake(bytes) {
      if (isEnded || taken + bytes > most || whole?.tryTake(bytes) === false) return false;
      taken += bytes;
      return true;
    },
    giveBack,
    end() {
      giveBack(taken);
      isEnded = true;
    },
  };
}
