import { withOptionNames, type OptionName } from "@budgie/core";

/** Replaces the names of the packages' options in a message by the command line's. */
export function withFlags(message: string): string {
  return withOptionNames(message, (name) => FLAGS[name]);
}

const FLAGS: Readonly<Record<OptionName, string>> = {
  acceptWeaker: "--accept-weaker",
  agentsDir: "--agents-dir",
  allowedRoots: "--allow-root",
  binary: "--kiro-binary",
  credentials: "--credentials",
  diskBytes: '"limits.disk" of --config',
  force: "--force",
  image: "--sandbox-image",
  kiroHarness: "--kiro-harness",
  maxPromptBytes: '"maxPromptBytes" of --config',
  model: "--model",
  protectExecutablePaths: "--protect-executable-paths",
  protocol: "--protocol",
  queued: '"maxQueued" of --config',
  retry: "--retry",
  runtime: "--runtime",
  sessionsDir: "--sessions-dir",
  stateDir: "--state-dir",
  timeoutMs: "--agent-timeout",
  trustAllTools: "--trust-all-tools",
  waitMs: '"kubernetesWait" of --config',
};
