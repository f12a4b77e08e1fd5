import pLimit from "p-limit";

/** Turns a name into addresses; rejects if there are none. */
export type Lookup = (host: string) => Promise<readonly ResolvedAddress[]>;

export type ResolvedAddress = { readonly address: string; readonly family: number };

type ResolverBounds = {
  /** How many names are asked for at once */
  readonly most: number;
  /** How long anybody waits for an answer: what was not asked for by then never is */
  readonly waitMs: number;
};

/** A lookup that asks for few names at once, and for the same name once only at a time; it remembers nothing. */
export function createResolver(lookup: Lookup, { most, waitMs }: ResolverBounds): Lookup {
  const limit = pLimit(most);
  const pending = new Map<string, Question>();

  function ask(host: string): Question {
    const answer = limit(async () => {
      if (performance.now() > question.until) throw new Error("Nobody waits for this name any more.");
      return lookup(host);
    });
    const question: Question = { answer: answer.finally(() => pending.delete(host)), until: 0 };
    pending.set(host, question);
    return question;
  }

  return (host) => {
    const question = pending.get(host) ?? ask(host);
    question.until = performance.now() + waitMs;
    return question.answer;
  };
}

type Question = { readonly answer: ReturnType<Lookup>; until: number };
