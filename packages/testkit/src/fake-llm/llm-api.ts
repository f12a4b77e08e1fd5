import type { Answered, Conversation } from "./to-reply.ts";

/** An API between agent programs and models. */
export type LlmApi = {
  /** Matches the whole path, with its query */
  readonly path: RegExp;
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
