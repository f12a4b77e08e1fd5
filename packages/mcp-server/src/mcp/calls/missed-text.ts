import type { MissedAnswer } from "@budgie/core";

/** An answer that was missed, for a model to read; where it ends is marked with what its agent could not know. */
export function toMissedText({ response, runId, when }: MissedAnswer): string {
  return [
    `[budgie: an earlier answer of this session, of ${when}, that may not have reached you. It ends at "end of ${runId}".]`,
    response,
    `[budgie: end of ${runId}]\n\n`,
  ].join("\n\n");
}
