import { openFileTrust, type FileTrust } from "@budgie/core/policy";
import { toShellCommand } from "@budgie/core/text";
import type { ServerConfig } from "./server-config.ts";
import { stateDirOption } from "./host-paths.ts";
import type { Host } from "../process/host.ts";

/** Opens what the state directory remembers of the directories that agents could write. */
export function openUserFileTrust(
  { stateDir }: Pick<ServerConfig, "stateDir">,
  host: Pick<Host, "env" | "home">,
): FileTrust {
  const option = stateDirOption(stateDir, host);
  return openFileTrust(stateDir, (path) => toShellCommand(["budgie", "config", "trust", path, ...option]));
}
