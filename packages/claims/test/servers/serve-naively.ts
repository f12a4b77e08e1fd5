import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServeAgents } from "@budgie/claims";
import { createSessionId, type AgentProcess, type Command } from "@budgie/core";
import { createMcpEndpoint, type McpEndpointOptions } from "../../../mcp-manager/src/index.ts";

type Manager = McpEndpointOptions["manager"];
type Message = {
  readonly id?: number;
  readonly params?: { readonly progressToken?: number; readonly progress?: number };
  readonly result?: Readonly<Record<string, unknown>>;
};
type Entries = Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>>;

/** Gives agents their servers, each in a sandbox, through a client that reads and forwards everything a server sends. */
export const serveNaively: ServeAgents = (protocol, { runner, stateDir }) => {
  let shown: Promise<string> | undefined;
  return async (turn) => {
    const { agent, directory, session } = turn;

    async function open(): Promise<string> {
      const { mcpServers } = JSON.parse(readFileSync(agent.file, "utf8")) as { readonly mcpServers: Entries };
      const opened = Object.entries(mcpServers).map(async ([name, { args, command }]) => {
        const place = await runner.openSession(createSessionId());
        const start: Command = { argv: [command, ...args], env: {}, projections: [] };
        return [name, createNaiveClient(await place.start(start, { directory }))] as const;
      });
      const clients = new Map(await Promise.all(opened));
      const find = (name: string): ReturnType<typeof createNaiveClient> => {
        const client = clients.get(name);
        if (client === undefined) throw new Error(`There is no server ${name}.`);
        return client;
      };
      const manager: Manager = {
        tools: async (name) => (await find(name)("tools/list", {}))["tools"] as Awaited<ReturnType<Manager["tools"]>>,
        call: async (name, call, { onProgress }) =>
          (await find(name)("tools/call", call, onProgress)) as Awaited<ReturnType<Manager["call"]>>,
        request: async (name, { method, params }) => find(name)(method, params),
      };
      const endpoint = createMcpEndpoint({ manager, servers: [...clients.keys()], version: "1" });
      const address = session.serve?.(endpoint) ?? "";
      const addresses = [...clients.keys()].map((name) => [name, { url: address + endpoint.pathOf(name) }]);
      const file = join(stateDir, "naive.json");
      writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(addresses) }));
      return file;
    }

    shown ??= open();
    return protocol({ ...turn, agent: { ...agent, shown: await shown } });
  };
};

type OnProgress = (progress: { readonly progress: number }) => void;

/** Initializes a connection to a server, and returns a function that sends it requests. */
function createNaiveClient({ stderr, stdin, stdout }: AgentProcess) {
  const waiting = new Map<number, (result: NonNullable<Message["result"]>) => void>();
  const followers = new Map<number, OnProgress>();
  let rest = "";
  let asked = 0;

  function hear(line: string): void {
    const { id, params, result = {} } = JSON.parse(line) as Message;
    if (id !== undefined) waiting.get(id)?.(result);
    else followers.get(params?.progressToken ?? -1)?.({ progress: params?.progress ?? 0 });
  }

  async function ask(method: string, params: object, onProgress?: OnProgress) {
    const id = ++asked;
    const answered = new Promise<NonNullable<Message["result"]>>((resolve) => waiting.set(id, resolve));
    if (onProgress !== undefined) followers.set(id, onProgress);
    const message = { method, params: { ...params, _meta: { progressToken: id } }, jsonrpc: "2.0", id };
    stdin.write(`${JSON.stringify(message)}\n`);
    return answered;
  }

  stderr.resume();
  stdin.on("error", () => undefined);
  stdout.setEncoding("utf8").on("data", (text: string) => {
    rest += text;
    if (!text.includes("\n")) return;
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
  const introduced = ask("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
  return async (method: string, params: object = {}, onProgress?: OnProgress) => {
    await introduced;
    return ask(method, params, onProgress);
  };
}
