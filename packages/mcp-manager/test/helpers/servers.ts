import { toMockCommand, type MockOptions } from "@budgie/testkit";
import { connectOnHost } from "../../src/transport/connect-on-host.ts";
import type { McpServer } from "../../src/config/mcp-server.ts";
import type { ServerEvent } from "../../src/server/server-state.ts";
import type { AllowedServer } from "../../src/is-allowed-tool.ts";
import { createMcpManager, type McpManagerOptions } from "../../src/mcp-manager.ts";

const SHARED = { timeoutMs: 60_000, disabled: false, disabledTools: [], from: "a test" };

/** Returns a mock server that is started as a process. */
export function toProcess(name: string, options: MockOptions = {}, own: Partial<McpServer> = {}): McpServer {
  return { ...SHARED, name, type: "stdio", env: {}, ...toMockCommand(options), ...own } as McpServer;
}

/** Returns a server at an address. */
export function toAddress(name: string, url: string, own: Partial<McpServer> = {}): McpServer {
  return { ...SHARED, name, type: "http", url, headers: {}, scopes: [], ...own } as McpServer;
}

type Given = Omit<Partial<McpManagerOptions>, "servers"> & { readonly servers: readonly (AllowedServer | McpServer)[] };

/** Creates a manager of servers on this machine, and keeps its events. */
export function manage({ servers, ...options }: Given) {
  const events: ServerEvent[] = [];
  const waiting: (() => void)[] = [];
  const manager = createMcpManager({
    connect: connectOnHost({ env: process.env, cwd: "/" }),
    client: { name: "test", version: "1" },
    restartDelayMs: 1,
    ...options,
    servers: servers.map((server) => ("server" in server ? server : { server })),
    onEvent(event) {
      events.push(event);
      for (const check of waiting) check();
    },
  });
  /** Resolves to the first event of a kind, even a past one. */
  const heard = (kind: ServerEvent["kind"]): Promise<ServerEvent> =>
    new Promise((resolve) => {
      const check = (): void => {
        const found = events.find((event) => event.kind === kind);
        if (found !== undefined) resolve(found);
      };
      waiting.push(check);
      check();
    });
  return { manager, events, heard };
}

/** Returns the text of a result's first part. */
export function toText(result: { readonly content: readonly Readonly<Record<string, unknown>>[] }): unknown {
  return result.content[0]?.["text"];
}
