/** The models that the stand-in knows. */
export const MODELS = ["auto", "claude-sonnet-4.5", "claude-sonnet-4", "claude-opus-4", "claude-haiku-4.5"];
