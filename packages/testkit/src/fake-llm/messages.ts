import { randomUUID } from "node:crypto";
import type { LlmApi, LlmEvent } from "./llm-api.ts";
import type { Answered, Schema } from "./to-reply.ts";

type Block = { readonly type: string; readonly text?: string; readonly content?: string | readonly Block[] };

type Request = {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  readonly tools?: readonly { readonly name: string; readonly input_schema?: Schema }[];
};

/** Anthropic's Messages API, streaming only. */
export const messages: LlmApi = {
  path: /^\/v1\/messages(\?beta=true)?$/,
  parse(body) {
    const { messages: all, tools = [] } = body as Request;
    const turns = all.filter(({ role }) => role === "user").map(({ content }) => toBlocks(content));
    const results = turns.map((blocks) => blocks.filter(({ type }) => type === "tool_result"));
    const lastPrompt = results.findLastIndex(({ length }) => length === 0);
    return {
      prompts: turns.filter((_, index) => results[index]?.length === 0).map(toText),
      toolResults: results
        .slice(lastPrompt + 1)
        .flatMap((some) => some.map(({ content = "" }) => toText(toBlocks(content)))),
      tools: tools.map(({ name, input_schema: parameters = {} }) => ({ name, parameters })),
    };
  },
  *answer(reply, body) {
    const { model } = body as Request;
    const message = { id: `msg_${randomUUID()}`, type: "message", role: "assistant", model, content: [], usage: USAGE };
    const [block, delta] = toBlock(reply);
    yield toEvent("message_start", { message });
    yield toEvent("content_block_start", { index: 0, content_block: block });
    yield toEvent("content_block_delta", { index: 0, delta });
    yield toEvent("content_block_stop", { index: 0 });
    const stop = { stop_reason: reply.kind === "call" ? "tool_use" : "end_turn", stop_sequence: null };
    yield toEvent("message_delta", { delta: stop, usage: USAGE });
    yield toEvent("message_stop", {});
  },
};

const USAGE = { input_tokens: 5, cache_creation_input_tokens: 1, cache_read_input_tokens: 4, output_tokens: 5 };

function toBlocks(content: string | readonly Block[]): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function toText(blocks: readonly Block[]): string {
  return blocks.map(({ text = "" }) => text).join("\n");
}

function toBlock(reply: Answered): readonly [block: object, delta: object] {
  if (reply.kind === "text")
    return [
      { type: "text", text: "" },
      { type: "text_delta", text: reply.text },
    ];
  const { arguments: input, name } = reply;
  return [
    { type: "tool_use", id: `toolu_${randomUUID()}`, name, input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify(input) },
  ];
}

function toEvent(type: string, facts: object): LlmEvent {
  return { event: type, data: { type, ...facts } };
}
