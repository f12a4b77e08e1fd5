/** The limits on prompts and answers. */
export type TextLimits = {
  /** Removes invisible and control characters from both */
  readonly sanitize: boolean;
  /** The size above which a prompt is rejected; 0 for no limit */
  readonly maxPromptBytes: number;
  /** The size above which an answer is truncated, and kept whole in the session's home; 0 for no limit */
  readonly maxAnswerBytes: number;
};

export const DEFAULT_TEXT_LIMITS: TextLimits = { sanitize: true, maxPromptBytes: 400_000, maxAnswerBytes: 100_000 };
