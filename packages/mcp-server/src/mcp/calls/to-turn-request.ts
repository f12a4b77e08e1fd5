import type { TurnRequest } from "@budgie/core";
import { parseAmounts } from "@budgie/core/budget";
import { parseTimeout } from "@budgie/core/text";
import type { AgentInput } from "../tools/parse-tool-input.ts";

/** Returns the request of a turn. An empty text means none, since models fill in what they could leave out. */
export function toTurnRequest(
  agent: string,
  { budget, egress, sessionId, timeout, workspace, ...rest }: AgentInput,
): TurnRequest {
  const timeoutMs = timeout ? parseTimeout(timeout, 'the argument "timeout"', "INPUT_INVALID") : undefined;
  const most = budget ? parseAmounts(budget, 'the argument "budget"', "INPUT_INVALID") : undefined;
  const tightening = { workspace, egress, timeoutMs };
  return { agent, ...rest, sessionId: sessionId || undefined, tightening, budget: most };
}
