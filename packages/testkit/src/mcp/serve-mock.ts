import { existsSync, writeFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { runMockAction } from "./run-mock-action.ts";
import type { MockHost, MockOptions, MockTool } from "./mock-options.ts";

/** Connects a mock server to a transport. */
export async function serveMock(options: MockOptions, transport: Transport, host: MockHost): Promise<void> {
  const { documents = false, instructions, name = "mock" } = options;
  let tools = options.tools ?? [];
  const server = new Server(
    { name, version: "1.2.3" },
    {
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(documents ? { prompts: { listChanged: true }, resources: {} } : {}),
      },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => toPage(tools, Number(params?.cursor ?? 0), options));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = tools.find(({ name }) => name === params.name);
    const setTools = (next: readonly MockTool[]): void => void (tools = next);
    return runMockAction(tool, params.arguments ?? {}, { ...host, extra, setTools });
  });
  if (documents) addDocuments(server);
  await server.connect(transport);
  misbehave(options, transport, host);
}

function toPage(
  tools: readonly MockTool[],
  start: number,
  { endlessPages = false, pageSize = tools.length }: MockOptions,
) {
  const page = tools.slice(start, start + pageSize).map(toOffered);
  const next = start + Math.max(1, pageSize);
  const hasNext = endlessPages || (pageSize > 0 && next < tools.length);
  return { tools: page as never[], ...(hasNext ? { nextCursor: String(next) } : {}) };
}

function toOffered({ description = "A tool.", inputSchema = { type: "object" }, name, title }: MockTool) {
  return { name, description, inputSchema, ...(title === undefined ? {} : { title }) };
}

function addDocuments(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [{ name: "greet" }] }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${params.arguments?.["who"] ?? "me"}.` } }],
  }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [{ name: "note", uri: "mock://note" }] }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({
    contents: [{ uri: params.uri, text: "a note" }],
  }));
}

/** Makes a server end at one method, and ignore another. */
function misbehave({ crashAt, crashOnceFile, silentAt }: MockOptions, transport: Transport, { crash }: MockHost): void {
  const hear = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const method = "method" in message ? message.method : undefined;
    if (method !== undefined && method === silentAt) return;
    const isEnd = method !== undefined && method === crashAt && isFirst(crashOnceFile);
    return isEnd ? crash() : hear?.(message, extra);
  };
}

/** Tells whether the file does not exist yet, and creates it. Without a file, the answer is always true. */
function isFirst(file: string | undefined): boolean {
  if (file === undefined) return true;
  if (existsSync(file)) return false;
  writeFileSync(file, "");
  return true;
}
