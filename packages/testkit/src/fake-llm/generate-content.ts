import type { LlmApi } from "./llm-api.ts";
import type { Answered, Schema } from "./to-reply.ts";

type Part = {
  readonly text?: string;
  readonly functionResponse?: { readonly response?: { readonly output?: unknown } };
};

type Request = {
  readonly contents: readonly { readonly role?: string; readonly parts: readonly Part[] }[];
  readonly tools?: readonly { readonly functionDeclarations?: readonly Declared[] }[];
};

type Declared = { readonly name: string; readonly parametersJsonSchema?: Schema; readonly parameters?: Schema };

/** Gemini's API, streaming only. */
export const generateContent: LlmApi = {
  path: /^\/v1beta\/models\/[\w.-]+:streamGenerateContent\?alt=sse$/,
  parse(body) {
    const { contents, tools = [] } = body as Request;
    const turns = contents.filter(({ role }) => role === "user");
    const results = turns.map(({ parts }) => parts.flatMap(({ functionResponse }) => functionResponse ?? []));
    const lastPrompt = results.findLastIndex(({ length }) => length === 0);
    return {
      prompts: turns.filter((_, index) => results[index]?.length === 0).map(({ parts }) => toText(parts)),
      toolResults: results
        .slice(lastPrompt + 1)
        .flatMap((some) => some.map(({ response }) => String(response?.output))),
      tools: tools.flatMap(({ functionDeclarations = [] }) =>
        functionDeclarations.map(({ name, parameters = {}, parametersJsonSchema = parameters }) => ({
          name,
          parameters: parametersJsonSchema,
        })),
      ),
    };
  },
  *answer(reply) {
    const content = { role: "model", parts: [toPart(reply)] };
    yield { data: { candidates: [{ index: 0, content, finishReason: "STOP" }], usageMetadata: USAGE } };
  },
};

const USAGE = {
  promptTokenCount: 10,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
  totalTokenCount: 15,
};

function toText(parts: readonly Part[]): string {
  return parts.map(({ text = "" }) => text).join("\n");
}

function toPart(reply: Answered): object {
  if (reply.kind === "text") return { text: reply.text };
  return { functionCall: { name: reply.name, args: reply.arguments } };
}
