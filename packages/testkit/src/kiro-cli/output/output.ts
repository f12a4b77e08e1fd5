import type { ToolCall } from "../agent/tool-call.ts";

/** The output of a run: text for people, or messages to a client. */
export interface Output {
  /** Prints a piece of the model's answer */
  text(text: string): Promise<void>;
  /** Asks a user for permission to use a tool; left out where there is none */
  approve?(call: ToolCall): Promise<boolean>;
  toolStarted(call: ToolCall, isApproved: boolean): Promise<void>;
  toolFinished(call: ToolCall, result: string): Promise<void>;
  toolFailed(call: ToolCall, reason: string): Promise<void>;
  toolDenied(call: ToolCall): Promise<void>;
  /** Ends the turn with an error of the service; left out for text, which has no form for it */
  fail?(message: string): Promise<never>;
  /** Prints the mark of a complete turn */
  finish(): Promise<void>;
}

/** Writes to a stream and waits until it is flushed, so that an exit loses nothing. */
export function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
