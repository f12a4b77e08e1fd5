/** What is done to prompts and answers on their way. */
export type Hygiene = {
  /** Whether invisible and control characters are removed */
  readonly sanitize: boolean;
  /** Above it a prompt is refused; 0: never */
  readonly maxPromptBytes: number;
  /** Above it an answer is cut, and kept whole in the session's home; 0: never */
  readonly maxAnswerBytes: number;
};

/** What is done unless somebody says otherwise. */
export const DEFAULT_HYGIENE: Hygiene = { sanitize: true, maxPromptBytes: 400_000, maxAnswerBytes: 100_000 };
