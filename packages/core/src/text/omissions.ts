/** A bounded list of sentences about omitted entries: it keeps the first and counts the rest. */
export type Omissions = {
  readonly add: (sentence: string) => void;
  /** The first sentences, then the number of the rest */
  readonly list: () => readonly string[];
};

const MOST_NAMED = 100;

/** Creates an empty list. */
export function createOmissions(): Omissions {
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

/** Joins the first names for a sentence, and counts the others: `a, b, 3 more`. */
export function joinFirst(names: readonly string[], most: number): string {
  const rest = names.length - most;
  return [...names.slice(0, most), ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
}
