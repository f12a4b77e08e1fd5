import { randomUUID } from "node:crypto";
import { toText, type Content, type LlmApi } from "./llm-api.ts";
import type { Answered, Schema } from "./to-reply.ts";

type Request = {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content?: Content }[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters?: Schema } }[];
};

/** OpenAI's Chat Completions API, streaming only. */
export const chatCompletions: LlmApi = {
  path: /^\/v1\/chat\/completions$/,
  parse(body) {
    const { messages, tools = [] } = body as Request;
    const lastPrompt = messages.findLastIndex(({ role }) => role === "user");
    return {
      prompts: messages.filter(({ role }) => role === "user").map(({ content }) => toText(content)),
      toolResults: messages
        .slice(lastPrompt)
        .filter(({ role }) => role === "tool")
        .map(({ content }) => toText(content)),
      tools: tools.map(({ function: { name, parameters = {} } }) => ({ name, parameters })),
    };
  },
  *answer(reply, body) {
    const { model } = body as Request;
    const base = { id: `chatcmpl-${randomUUID()}`, object: "chat.completion.chunk", created: 0, model };
    const finish = reply.kind === "call" ? "tool_calls" : "stop";
    yield { data: { ...base, choices: [{ index: 0, delta: toDelta(reply), finish_reason: null }] } };
    yield { data: { ...base, choices: [{ index: 0, delta: {}, finish_reason: finish }], usage: USAGE } };
    yield { data: "[DONE]" };
  },
};

const USAGE = {
  prompt_tokens: 10,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens: 5,
  completion_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 15,
};

function toDelta(reply: Answered): object {
  if (reply.kind === "text") return { role: "assistant", content: reply.text };
  const { name } = reply;
  const call = { name, arguments: JSON.stringify(reply.arguments) };
  return {
    role: "assistant",
    tool_calls: [{ index: 0, id: `call_${randomUUID()}`, type: "function", function: call }],
  };
}
