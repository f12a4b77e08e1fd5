import { BudgieError, type RunnerSession } from "@budgie/core";
import type { WorkspaceCopy } from "@budgie/core/copies";
import type { SandboxContext } from "./sandbox-context.ts";

/** Returns the access to a session's copy. It throws `CONFIG_INVALID` for an engine elsewhere, unless the user said that it may get copies. */
export function offerCopy(
  { allowsRemoteCopy, engine: { endpoint } }: Pick<SandboxContext, "allowsRemoteCopy" | "engine">,
  copy: WorkspaceCopy,
): Pick<RunnerSession, "copy"> {
  if ("socketPath" in endpoint.address || allowsRemoteCopy) return { copy: () => copy };
  return {
    copy() {
      throw new BudgieError(
        "CONFIG_INVALID",
        `A copy of the directory would go to the engine at ${endpoint.url}. If its machine may have your files, put "allowRemoteCopy": true into ` +
          `budgie's configuration file. If it sees this machine's files at the same paths, "workspace": "rw" needs no copy.`,
      );
    },
  };
}
