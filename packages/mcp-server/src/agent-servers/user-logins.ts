import { join } from "node:path";
import { createLogins, type CreateFetch, type Logins } from "@budgie/mcp-manager";
import type { ServerConfig } from "../config/server-config.ts";

/** Creates the user's logins to MCP servers, which are in the state directory. */
export function createUserLogins({ stateDir }: Pick<ServerConfig, "stateDir">, createFetch: CreateFetch): Logins {
  return createLogins({ folder: join(stateDir, "mcp", "logins"), clientName: "budgie", createFetch });
}
