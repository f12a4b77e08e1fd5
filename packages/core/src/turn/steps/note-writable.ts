import { noteDirectory } from "../../policy/file-trust.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step } from "../turn.ts";

/** Remembers the directory before an agent in a sandbox may write there. What budgie reads as configuration is refused there from then on. */
export function noteWritable({ fileTrust }: Pick<TurnSettings, "fileTrust">): Step {
  return async (turn, next) => {
    // Without a sandbox, an agent may write anywhere anyway.
    const isSandboxed = turn.route.runner.isolation === "container";
    if (fileTrust !== undefined && isSandboxed && turn.mayWrite) {
      noteDirectory(fileTrust, turn.request.directory);
      const { folders } = turn.git;
      if (folders !== undefined && folders.writable.length > 0) noteDirectory(fileTrust, folders.common);
    }
    return next();
  };
}
