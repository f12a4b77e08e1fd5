import { BudgieError } from "../../errors.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step } from "../turn.ts";

/** Remembers the directory before an agent in a sandbox may write there. What budgie reads as configuration is refused there from then on. */
export function noteWritable({ fileTrust }: Pick<TurnSettings, "fileTrust">): Step {
  return async (turn, next) => {
    // Without a sandbox, an agent may write anywhere anyway.
    const isSandboxed = turn.route.runner.isolation === "container";
    if (fileTrust !== undefined && isSandboxed && turn.mayWrite) {
      note(fileTrust, turn.request.directory);
      const { folders } = turn.git;
      if (folders !== undefined && folders.writable.length > 0) note(fileTrust, folders.common);
    }
    return next();
  };
}

function note(fileTrust: NonNullable<TurnSettings["fileTrust"]>, directory: string): void {
  try {
    fileTrust.note(directory);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    const message = `Cannot remember in the state directory that an agent may write in "${directory}" (${reason}). Make it writable, or make room there.`;
    throw new BudgieError("STATE_UNUSABLE", message, { cause });
  }
}
