/** One MCP server, as an agent's file or the user's settings describe it. */
export type McpServer = {
  readonly name: string;
  /** The timeout of one request, in milliseconds; progress restarts it */
  readonly timeoutMs: number;
  readonly disabled: boolean;
  /** Tools that the entry disables */
  readonly disabledTools: readonly string[];
  /** The entry's place in its file, for messages */
  readonly from: string;
} & (ProcessServer | HttpServer);

/** A program that speaks MCP on its stdin and stdout. */
export type ProcessServer = {
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** A server that speaks MCP over streamable HTTP, or over the older transport with server-sent events. */
export type HttpServer = {
  readonly type: "http";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The scopes to request at a login; if empty, those that the server asks for */
  readonly scopes: readonly string[];
};
