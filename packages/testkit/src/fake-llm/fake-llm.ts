import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { json } from "node:stream/consumers";
import { createCertificateAuthority } from "../certificate-authority.ts";
import { serveOnLoopback, type LoopbackServer } from "../serve-on-loopback.ts";
import { chatCompletions } from "./chat-completions.ts";
import { generateContent } from "./generate-content.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";
import { toReply } from "./to-reply.ts";

/** A model server on the loopback interface that follows the prompt's script, for agent programs with the APIs of OpenAI, Anthropic or Gemini. */
export type FakeLlm = LoopbackServer & {
  /** The requested paths, one for each answer */
  readonly requests: readonly string[];
  /** Path of the certificate of its own authority, which no program trusts by default */
  readonly caFile: string;
};

/**
 * Creates a model server with the name `llm.test`. Each of its answers has cost 10 tokens of input, 4 of them from a cache, and 5 of output, 2 of
 * them thoughts.
 */
export async function createFakeLlm(): Promise<FakeLlm> {
  const requests: string[] = [];
  const authority = await createCertificateAuthority();
  const identity = await authority.issue("llm.test");
  const server = createServer(identity, (request, response) => {
    requests.push(request.url ?? "");
    void respond(request, response).catch((error: unknown) => response.destroy(toError(error)));
  });
  const served = await serveOnLoopback(server);
  return {
    ...served,
    requests,
    caFile: authority.file,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await authority[Symbol.asyncDispose]();
    },
  };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const api = [chatCompletions, generateContent, messages, responses].find(({ path }) => path.test(request.url ?? ""));
  if (api === undefined) {
    response.writeHead(404).end();
    return;
  }
  const body = await json(request);
  const reply = toReply(api.parse(body));
  if (reply.kind === "hang") return;
  if (reply.kind === "fail") {
    response.writeHead(reply.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "The model was told to fail.", type: "test", code: "test" } }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const { data, event } of api.answer(reply, body)) {
    if (event !== undefined) response.write(`event: ${event}\n`);
    response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
