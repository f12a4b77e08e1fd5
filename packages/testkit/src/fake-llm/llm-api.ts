import type { Answered, Conversation } from "./scripted-model.ts";

/** An API between agent programs and models. */
export type LlmApi = {
  readonly path: string;
  readonly parse: (body: unknown) => Conversation;
  /** Returns the events of a stream */
  readonly answer: (reply: Answered, body: unknown) => Iterable<LlmEvent>;
};

export type LlmEvent = { readonly event?: string; readonly data: object | string };

/** The content of a message: text, or parts of which some are text. */
export type Content = string | readonly { readonly text?: string }[] | null;

/** Returns the text of a message. */
export function toText(content: Content | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text = "" }) => text).join("\n");
}
