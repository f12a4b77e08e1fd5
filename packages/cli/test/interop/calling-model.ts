import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { serveOnLoopback, type LoopbackServer } from "@budgie/testkit";

/**
 * A model that calls an agent twice, the second time in the session whose id the client showed it in the first result, and then asks for the
 * changes whose id it was shown too.
 */
export type CallingModel = LoopbackServer & {
  /** The results of calls, as the client put them into its requests */
  readonly shown: readonly string[];
};

/** Starts the model. It speaks Gemini's API, OpenAI's Responses API and Anthropic's Messages API. */
export async function startCallingModel(directory: string): Promise<CallingModel> {
  const shown: string[] = [];
  const server = createServer((request, response) => {
    const api = APIS.find(({ path }) => path.test(request.url ?? ""));
    if (api === undefined) return void response.writeHead(404).end();
    void json(request).then((body) => {
      const { results, tools } = api.parse(body);
      // Some clients also ask for a title, without what they have shown.
      if (results.length > 0) shown.splice(0, shown.length, ...results);
      response.writeHead(200, { "content-type": "text/event-stream" });
      api.answer(toReply(results, { directory, tools }), response);
      response.end();
    });
  });
  return { ...(await serveOnLoopback(server)), shown };
}

type Tool = { readonly name: string; readonly namespace?: string };
type Reply = { readonly text: string } | { readonly tool: Tool; readonly arguments: Readonly<Record<string, string>> };

type Api = {
  readonly path: RegExp;
  readonly parse: (body: unknown) => { readonly results: readonly string[]; readonly tools: readonly Tool[] };
  readonly answer: (reply: Reply, response: ServerResponse) => void;
};

function toReply(
  results: readonly string[],
  { directory, tools }: { directory: string; tools: readonly Tool[] },
): Reply {
  const tool = tools.find(({ name }) => /shell.worker$/.test(name));
  if (tool === undefined) return { text: `There is no agent among ${tools.map(({ name }) => name).join(", ")}.` };
  const [first, second, third] = results;
  if (first === undefined)
    return { tool, arguments: { prompt: "Keep the word token-parakeet. [[run: echo made >made.txt]]", directory } };
  if (third !== undefined) return { text: `The agent answered: ${second}` };
  if (second !== undefined) return askForChanges(second, tools);
  const [, sessionId] = /sessionId\W+([0-9a-f-]{36})/.exec(first) ?? [];
  if (sessionId === undefined) return { text: "There is no session id in what I was shown." };
  return { tool, arguments: { prompt: "[[recall]]", directory, sessionId } };
}

function askForChanges(shown: string, tools: readonly Tool[]): Reply {
  const tool = tools.find(({ name }) => /(?<!apply_|discard_)changes$/.test(name));
  const [, changeId] = /changeId\W+([0-9a-f]{64})/.exec(shown) ?? [];
  if (tool === undefined || changeId === undefined) return { text: "There are no changes in what I was shown." };
  return { tool, arguments: { changeId } };
}

type GeminiBody = {
  readonly contents: readonly {
    readonly parts: readonly { readonly functionResponse?: { readonly response: unknown } }[];
  }[];
  readonly tools?: readonly { readonly functionDeclarations?: readonly Tool[] }[];
};

const gemini: Api = {
  path: /:streamGenerateContent/,
  parse(body) {
    const { contents, tools = [] } = body as GeminiBody;
    const answers = contents.flatMap(({ parts }) => parts.flatMap(({ functionResponse }) => functionResponse ?? []));
    return {
      results: answers.map((answer) => JSON.stringify(answer.response)),
      tools: tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations),
    };
  },
  answer(reply, response) {
    const part = "text" in reply ? reply : { functionCall: { name: reply.tool.name, args: reply.arguments } };
    const candidates = [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }];
    response.write(`data: ${JSON.stringify({ candidates })}\n\n`);
  },
};

type ResponsesBody = {
  readonly input: readonly { readonly type: string; readonly output?: unknown }[];
  readonly tools?: readonly (Tool & { readonly tools?: readonly Tool[] })[];
};

const responses: Api = {
  path: /\/responses$/,
  parse(body) {
    const { input, tools = [] } = body as ResponsesBody;
    const answers = input.filter(({ type }) => type === "function_call_output");
    return {
      results: answers.map(({ output }) => JSON.stringify(output)),
      tools: tools.flatMap(({ name: namespace, tools: own = [] }) => own.map(({ name }) => ({ name, namespace }))),
    };
  },
  answer(reply, response) {
    const item =
      "text" in reply
        ? { type: "message", role: "assistant", content: [{ type: "output_text", text: reply.text }] }
        : { type: "function_call", call_id: "call", ...reply.tool, arguments: JSON.stringify(reply.arguments) };
    const whole = { id: "r", usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
    for (const event of [
      { type: "response.created", response: { id: "r" } },
      { type: "response.output_item.done", item },
      { type: "response.completed", response: whole },
    ]) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
  },
};

type MessagesBody = {
  readonly messages: readonly {
    readonly content: string | readonly { readonly type: string; readonly content?: unknown }[];
  }[];
  readonly tools?: readonly Tool[];
};

const messages: Api = {
  path: /\/messages(\?|$)/,
  parse(body) {
    const { messages: all, tools = [] } = body as MessagesBody;
    const blocks = all.flatMap(({ content }) => (typeof content === "string" ? [] : content));
    const answers = blocks.filter(({ type }) => type === "tool_result");
    return { results: answers.map(({ content }) => JSON.stringify(content)), tools };
  },
  answer(reply, response) {
    const isText = "text" in reply;
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage };
    const block = isText ? { type: "text", text: "" } : { type: "tool_use", id: randomUUID(), name: reply.tool.name };
    const delta = isText
      ? { type: "text_delta", text: reply.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(reply.arguments) };
    for (const event of [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: isText ? block : { ...block, input: {} } },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: isText ? "end_turn" : "tool_use" }, usage },
      { type: "message_stop" },
    ]) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
  },
};

const APIS = [gemini, responses, messages];
