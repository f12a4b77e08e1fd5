export type RateLimit = { readonly perSecond: number; readonly burst: number };

export type Rate = {
  /** Takes one if it is left now. */
  readonly tryTake: () => boolean;
  /** Takes `amount`, and returns the milliseconds to wait until that was allowed. */
  readonly take: (amount?: number) => number;
};

/** Creates a rate that fills up with time. `now` is in milliseconds. */
export function createRate({ burst, perSecond }: RateLimit, now: () => number = () => performance.now()): Rate {
  let left = burst;
  let at = now();
  const refill = (): void => {
    const time = now();
    left = Math.min(burst, left + ((time - at) * perSecond) / 1000);
    at = time;
  };
  return {
    tryTake() {
      refill();
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    take(amount = 1) {
      refill();
      left -= amount;
      return left >= 0 ? 0 : (-left / perSecond) * 1000;
    },
  };
}
