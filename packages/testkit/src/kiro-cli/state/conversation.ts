/** A conversation, and what it was held with. */
export type Conversation = {
  readonly id: string;
  /** The stored agent; `undefined` for a new conversation */
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly history: readonly Exchange[];
};

/** A prompt and its answer. */
type Exchange = { readonly prompt: string; readonly answer: string };

/** Returns a conversation that begins. */
export function toConversation(id: string): Conversation {
  return { id, agent: undefined, model: undefined, history: [] };
}
