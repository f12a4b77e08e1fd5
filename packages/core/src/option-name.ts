/** The package options that messages name. A program whose options have other names replaces these. */
export const OPTION_NAMES = [
  "acceptWeaker",
  "agentsDir",
  "allowedRoots",
  "binary",
  "credentials",
  "diskBytes",
  "force",
  "image",
  "kiroHarness",
  "maxPromptBytes",
  "model",
  "protectExecutablePaths",
  "protocol",
  "queued",
  "retry",
  "runtime",
  "sessionsDir",
  "stateDir",
  "timeoutMs",
  "trustAllTools",
  "waitMs",
] as const;

export type OptionName = (typeof OPTION_NAMES)[number];

/** Returns an option's name for a message: `the option "stateDir"`. */
export function formatOption(name: OptionName): string {
  return `the option "${name}"`;
}

/** Replaces the names of options in a message. */
export function withOptionNames(message: string, toName: (name: OptionName) => string): string {
  return OPTION_NAMES.reduce((text, name) => text.replaceAll(formatOption(name), () => toName(name)), message);
}
