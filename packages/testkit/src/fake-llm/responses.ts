import { randomUUID } from "node:crypto";
import { toText, type Content, type LlmApi, type LlmEvent } from "./llm-api.ts";
import type { Answered, Schema } from "./to-reply.ts";

type Request = {
  readonly model: string;
  readonly input: readonly {
    readonly type?: string;
    readonly role?: string;
    readonly content?: Content;
    readonly output?: Content;
  }[];
  readonly tools?: readonly (OwnTool & { readonly tools?: readonly OwnTool[] })[];
};

type OwnTool = { readonly name?: string; readonly parameters?: Schema };

/** OpenAI's Responses API, streaming only. */
export const responses: LlmApi = {
  path: /^\/v1\/responses$/,
  parse(body) {
    const { input, tools = [] } = body as Request;
    const lastPrompt = input.findLastIndex(({ role }) => role === "user");
    return {
      prompts: input.filter(({ role }) => role === "user").map(({ content }) => toText(content)),
      toolResults: input
        .slice(lastPrompt)
        .filter(({ type = "" }) => type === "function_call_output")
        .map(({ output }) => toText(output)),
      // The tools of an MCP server are in a namespace.
      tools: tools.flatMap(({ tools: own, ...tool }) =>
        own === undefined ? toNamed(tool) : own.flatMap((each) => toNamed(each, tool.name)),
      ),
    };
  },
  *answer(reply, body) {
    const { model } = body as Request;
    const response = { id: `resp_${randomUUID()}`, object: "response", created_at: 0, model };
    const item = toItem(reply);
    yield toEvent("response.created", { response: { ...response, status: "in_progress", output: [] } });
    yield toEvent("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress" } });
    if (reply.kind === "text") {
      const place = { item_id: item.id, output_index: 0, content_index: 0 };
      yield toEvent("response.output_text.delta", { ...place, delta: reply.text });
    }
    yield toEvent("response.output_item.done", { output_index: 0, item });
    yield toEvent("response.completed", {
      response: { ...response, status: "completed", output: [item], usage: USAGE },
    });
  },
};

/** Returns a tool, or none without a name: the API runs such a tool itself. */
function toNamed({ name, parameters = {} }: OwnTool, namespace?: string) {
  return name === undefined ? [] : [{ name, namespace, parameters }];
}

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 15,
};

function toEvent(type: string, fields: object): LlmEvent {
  return { event: type, data: { type, ...fields } };
}

function toItem(reply: Answered): { readonly id: string } {
  const [id, status] = [`item_${randomUUID()}`, "completed"];
  if (reply.kind === "text") {
    const content = [{ type: "output_text", text: reply.text, annotations: [] }];
    return Object.assign({ id, status }, { type: "message", role: "assistant", content });
  }
  const { arguments: given, name, namespace } = reply;
  const call = { call_id: `call_${randomUUID()}`, name, namespace, arguments: JSON.stringify(given) };
  return Object.assign({ id, status }, { type: "function_call", ...call });
}
