import { BudgieError } from "@budgie/core";
import type { McpServer } from "./mcp-server.ts";

export type Variables = {
  /** The variables that this server may have */
  readonly names: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
};

/**
 * Returns a server with `$NAME`, `${NAME}` and `${env:NAME}` replaced in its command, its variables and its headers. Arguments and
 * URLs stay as they are, since others can read them. Throws `CONFIG_INVALID` for a variable that is not listed or not set.
 */
export function expandVariables(server: McpServer, variables: Variables): McpServer {
  const expand = (text: string): string => expandText(text, { ...variables, server: server.name });
  const expandAll = (texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, expand(text)]));
  return server.type === "stdio"
    ? { ...server, command: expand(server.command), env: expandAll(server.env) }
    : { ...server, headers: expandAll(server.headers) };
}

const VARIABLE = /\$(?:\{(?:env:)?([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

function expandText(text: string, { env, names, server }: Variables & { readonly server: string }): string {
  return text.replace(VARIABLE, (_, braced: string | undefined, plain: string | undefined) => {
    const name = braced ?? plain ?? "";
    if (!names.includes(name)) {
      throw new BudgieError(
        "CONFIG_INVALID",
        `The MCP server "${server}" asks for the variable ${name}, which it may not have. List it in the server's "env" to allow that.`,
      );
    }
    const value = env[name];
    if (value === undefined) {
      throw new BudgieError(
        "CONFIG_INVALID",
        `The MCP server "${server}" needs the variable ${name}, which is not set.`,
      );
    }
    return value;
  });
}
