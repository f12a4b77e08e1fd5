/** Sentences about what was left out, of which only the first are kept: there may be any number. */
export type LeftOut = {
  readonly add: (sentence: string) => void;
  /** The first, and how many more there are */
  readonly list: () => readonly string[];
};

const MOST_NAMED = 100;

/** Creates an empty list. */
export function createLeftOut(): LeftOut {
  const named: string[] = [];
  let others = 0;
  return {
    add(sentence) {
      if (named.length < MOST_NAMED) named.push(sentence);
      else others++;
    },
    list: () => (others === 0 ? named : [...named, `${others} more.`]),
  };
}
