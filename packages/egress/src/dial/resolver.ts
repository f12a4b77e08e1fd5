import pLimit from "p-limit";

/** Resolves a name to addresses; rejects if it has none. */
export type Lookup = (host: string) => Promise<readonly ResolvedAddress[]>;

export type ResolvedAddress = { readonly address: string; readonly family: number };

type ResolverLimits = {
  /** Names looked up at once */
  readonly most: number;
  /** Time that callers wait; a name that is still queued then is never looked up */
  readonly waitMs: number;
};

/** Limits how many names `lookup` resolves at once, and shares one pending lookup between callers. Caches nothing. */
export function createResolver(lookup: Lookup, { most, waitMs }: ResolverLimits): Lookup {
  const limit = pLimit(most);
  const pending = new Map<string, Question>();

  function ask(host: string): Question {
    const answer = limit(async () => {
      if (performance.now() > question.until) throw new Error("No caller waits for this name any more.");
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
