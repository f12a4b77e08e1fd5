import type { Config } from "../config/config.ts";
import { checkSandboxOptions } from "../config/sandbox-options.ts";
import type { Host } from "../process/host.ts";
import { refuseForStdio } from "./http-options.ts";
import { toAllowedRoots } from "./workspace-rules.ts";

/**
 * Checks the options that depend on no engine, agents or environment. Throws `CONFIG_INVALID` for one that a server would not start
 * with.
 */
export function checkOptions(config: Config, host: Pick<Host, "uid">): void {
  if (config.transport === "stdio") refuseForStdio(config);
  checkSandboxOptions(config, host);
  toAllowedRoots(config);
}
