import type { Profile } from "../profile/settings.ts";
import type { ToolCall } from "../agent/tools.ts";

/** The output of a run: text for people, or JSON Lines for programs. */
export interface Output {
  readonly format: "text" | "stream-json";
  /** Prints what precedes the model's answer */
  begin(): Promise<void>;
  /** Prints a piece of the model's answer */
  text(text: string): Promise<void>;
  toolStarted(call: ToolCall): Promise<void>;
  toolFinished(call: ToolCall, result: string): Promise<void>;
  toolFailed(call: ToolCall, reason: string): Promise<void>;
  toolDenied(call: ToolCall): Promise<void>;
  /** Prints what marks the turn as complete */
  finish(): Promise<void>;
}

/** The facts of a run that both formats print. */
export type OutputOptions = {
  readonly profile: Profile;
  readonly model: string;
  readonly sessionId: string;
  readonly trustAll: boolean;
};

/** Writes to a stream and waits until it is flushed, so that an exit loses nothing. */
export function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
