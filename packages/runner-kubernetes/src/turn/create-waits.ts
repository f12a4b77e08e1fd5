type Hear = (why: string) => void;

/** The reasons for which a session waits for its Pod, and whoever hears them. */
export type Waits = {
  /** Has one hear the present reason and those that follow, in place of another one */
  readonly hear: (hear: Hear) => void;
  readonly tell: Hear;
  /** Notes that it waits no more */
  readonly end: () => void;
};

/** Creates the waits of a session. A Pod that was begun before the turn may have waited for long. */
export function createWaits(): Waits {
  let present: string | undefined;
  let hear: Hear = () => undefined;
  return {
    hear(next) {
      hear = next;
      if (present !== undefined) next(present);
    },
    tell(why) {
      present = why;
      hear(why);
    },
    end: () => void (present = undefined),
  };
}
