/** One MCP server, as an agent's file or the user's settings describe it. */
export type McpServer = {
  readonly name: string;
  /** The limit of one request, in milliseconds; progress starts it anew */
  readonly timeoutMs: number;
  readonly disabled: boolean;
  /** Tools that the file switches off */
  readonly disabledTools: readonly string[];
  /** The file, and the place in it */
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
  /** The scopes to ask for at a login; the server's own by default */
  readonly scopes: readonly string[];
};
