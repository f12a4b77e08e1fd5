import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { EmptyResultSchema, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError } from "@budgie/core";
import type { AskPerson } from "../calls/client-tools.ts";

export type AskOptions = {
  /** The tool call during which it asks */
  readonly requestId: RequestId;
  /** Aborts when the call is cancelled */
  readonly signal: AbortSignal;
  readonly limitMs: number;
};

// A person types a few characters.
const LONGEST_ANSWER = 256;

/** Creates the way to ask the client's person for a text by a form; `undefined` if the client shows none. */
export function createAsk(server: Server, { limitMs, requestId, signal }: AskOptions): AskPerson | undefined {
  if (server.getClientCapabilities()?.elicitation?.form === undefined) return undefined;
  return async ({ label, message }) => {
    const answer = { type: "string" as const, title: label };
    const requestedSchema = { type: "object" as const, properties: { answer }, required: ["answer"] };
    try {
      // Over HTTP the question comes in the stream of the call.
      const options = { signal, timeout: limitMs, relatedRequestId: requestId };
      // Clients of the official SDK do not notice that a request with the id 0 is cancelled, so that one is a ping.
      void server.request({ method: "ping" }, EmptyResultSchema, options).catch(() => undefined);
      const { action, content } = await server.elicitInput({ mode: "form", message, requestedSchema }, options);
      const typed = action === "accept" ? content?.["answer"] : undefined;
      return typeof typed === "string" && typed.length <= LONGEST_ANSWER ? typed : undefined;
    } catch (error) {
      if (signal.aborted)
        throw new BudgieError("CANCELLED", "The call was cancelled while it asked.", { cause: error });
      // Nobody answered in time, or the answer is none.
      return undefined;
    }
  };
}
