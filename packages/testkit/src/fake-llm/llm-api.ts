import type { Answered, Conversation } from "./scripted-model.ts";

/** An API between agent programs and models. */
export type LlmApi = {
  readonly path: string;
  readonly parse: (body: unknown) => Conversation;
  /** Returns the events of a stream */
  readonly answer: (reply: Answered, body: unknown) => Iterable<LlmEvent>;
};

export type LlmEvent = { readonly event?: string; readonly data: object | string };
