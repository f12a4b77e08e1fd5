import type { Profile } from "../profile/settings.ts";
import type { ToolCall } from "../agent/tools.ts";

/** How a run shows itself: text for people, or lines of JSON for programs. */
export interface Output {
  readonly format: "text" | "stream-json";
  /** What comes before the model's first word */
  begin(): Promise<void>;
  /** A piece of the model's answer */
  text(text: string): Promise<void>;
  toolStarted(call: ToolCall): Promise<void>;
  toolFinished(call: ToolCall, result: string): Promise<void>;
  toolFailed(call: ToolCall, reason: string): Promise<void>;
  toolDenied(call: ToolCall): Promise<void>;
  /** What proves that the turn was finished */
  finish(): Promise<void>;
}

/** What both formats are told of a run. */
export type OutputOptions = {
  readonly profile: Profile;
  readonly model: string;
  readonly sessionId: string;
  readonly trustAll: boolean;
};

/** Writes to a stream and waits until it took the bytes, so that an exit loses none of them. */
export function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
