/** The cost of a turn, as far as its program reports it; at least one figure. A figure that is left out is unknown, not zero. */
export type Usage = {
  /**
   * The basis of the tokens: `turn` if they were counted for this turn alone, `thread` for the difference of two totals of the session, and
   * `request` for the program's last request alone, which is never summed. Left out if unknown
   */
  readonly basis?: "turn" | "thread" | "request" | undefined;
  /** The model, as its program names it */
  readonly model?: string | undefined;
  readonly credits?: number | undefined;
  /** The tokens that the model read anew, also if its provider cached them then; without `cachedTokens` */
  readonly inputTokens?: number | undefined;
  /** The tokens that came from the provider's cache */
  readonly cachedTokens?: number | undefined;
  /** The tokens that the model wrote, its thoughts included */
  readonly outputTokens?: number | undefined;
  /** The part of `outputTokens` that is thoughts */
  readonly thoughtTokens?: number | undefined;
  /** All of them: `inputTokens`, `cachedTokens` and `outputTokens` */
  readonly totalTokens?: number | undefined;
  /** The cost of this turn alone */
  readonly cost?: Cost | undefined;
  /** The tokens in the model's context after the turn, and the most that it takes */
  readonly contextUsed?: number | undefined;
  readonly contextSize?: number | undefined;
};

/** An amount of money. */
export type Cost = { readonly amount: number; readonly currency: string };

/** The report of an agent program on one attempt. Its tokens of the basis `thread` are the session's so far. */
export type UsageReport = Omit<Usage, "cost"> & {
  /** The cost of the session so far */
  readonly sessionCost?: Cost | undefined;
};

/** The names of the token figures. */
export const TOKEN_FIGURES = ["inputTokens", "cachedTokens", "outputTokens", "thoughtTokens", "totalTokens"] as const;

/** The counts of tokens. */
export type TokenFigures = Pick<Usage, (typeof TOKEN_FIGURES)[number]>;

/** The last totals of a session, which are subtracted from the next turn's. */
export type UsageTotals = TokenFigures & Pick<UsageReport, "sessionCost">;
