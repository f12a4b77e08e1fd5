export type RateLimit = { readonly perSecond: number; readonly burst: number };

export type Rate = {
  /** Takes one if one is left. */
  readonly tryTake: () => boolean;
  /** Takes `amount`, and returns the milliseconds that the caller must wait; 0 if enough was left. */
  readonly take: (amount?: number) => number;
};

/** Creates a token bucket, which starts full. `now` is in milliseconds. */
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
