import { withOptionNames, type OptionName } from "@budgie/core";

/** Replaces the names of the packages' options in a message by the command line's. */
export function withFlags(message: string): string {
  return withOptionNames(message, (name) => FLAGS[name]);
}

const FLAGS: Readonly<Record<OptionName, string>> = {
  acceptWeaker: "--accept-weaker",
  credentials: "--credentials",
  image: "--sandbox-image",
  runtime: "--runtime",
  sessionsDir: "--sessions-dir",
  stateDir: "--state-dir",
};
