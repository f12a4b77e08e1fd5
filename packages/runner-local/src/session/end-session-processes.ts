import type { SessionId } from "@budgie/core";
import { createProcessFamily } from "../turn/process-family.ts";

const STOP_GRACE_MS = 2_000;

/** Ends the processes that a killed owner left in a session. */
export function endSessionProcesses(id: SessionId): Promise<void> {
  return createProcessFamily({ mark: `BUDGIE_SESSION=${id}` }).end(STOP_GRACE_MS);
}
