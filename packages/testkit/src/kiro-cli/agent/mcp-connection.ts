/** A connection to an MCP server over streamable HTTP. */
export type McpConnection = {
  /** The names of its tools when the conversation began */
  readonly tools: readonly string[];
  /** Calls a tool, and resolves to its whole result as JSON, as the real program shows it to the model. */
  readonly call: (tool: string, args: unknown) => Promise<string>;
  readonly close: () => Promise<void>;
};

/** Connects to a server like the real program: a request without a body, the initialization, and the list of tools. */
export async function connectMcp(url: string, headers: Readonly<Record<string, string>> = {}): Promise<McpConnection> {
  const common = { ...headers, accept: "application/json, text/event-stream", "content-type": "application/json" };
  let session: Readonly<Record<string, string>> = {};
  let count = 0;

  async function send(message: object): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const response = await fetch(url, { method: "POST", headers: { ...common, ...session }, body });
    if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`);
    return response;
  }

  async function request(method: string, params: object = {}): Promise<Answer> {
    const id = count++;
    const response = await send({ id, method, params });
    const found = toMessages(await response.text()).find((message) => message.id === id && !("method" in message));
    const given = response.headers.get("mcp-session-id");
    if (given !== null) session = { "mcp-session-id": given };
    if (found?.error !== undefined) throw new Error(found.error.message);
    return found?.result ?? {};
  }

  const { status } = await fetch(url, { method: "POST", headers: common });
  if (status === 401 || status === 403) throw new Error("it wants a login");
  const clientInfo = { name: "Q DEV CLI", version: "1.0.0" };
  await request("initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo });
  await send({ method: "notifications/initialized" });
  const { tools = [] } = await request("tools/list");
  return {
    tools: tools.map(({ name }) => name),
    call: async (name, args) => JSON.stringify(await request("tools/call", { name, arguments: args })),
    close: async () => void (await fetch(url, { method: "DELETE", headers: { ...common, ...session } })),
  };
}

type Answer = { readonly tools?: readonly { readonly name: string }[] };

type Message = {
  readonly id?: unknown;
  readonly result?: Answer;
  readonly error?: { readonly message: string };
};

/** Parses a body of JSON, or the messages of server-sent events. */
function toMessages(body: string): readonly Message[] {
  if (body.startsWith("{")) return [JSON.parse(body) as Message];
  const lines = body.split(/\r?\n/).filter((line) => line.startsWith("data:") && line.trim() !== "data:");
  return lines.map((line) => JSON.parse(line.slice("data:".length)) as Message);
}
