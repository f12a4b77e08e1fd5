import { join } from "node:path";
import type { ServersConfig } from "../agents/servers-config.ts";
import { createLogins, type Logins } from "../login/logins.ts";
import type { CreateFetch } from "../transport/connect-on-host.ts";

/** Creates the user's logins to MCP servers, which are in the state directory. */
export function createUserLogins({ stateDir }: Pick<ServersConfig, "stateDir">, createFetch: CreateFetch): Logins {
  return createLogins({ folder: join(stateDir, "mcp", "logins"), clientName: "budgie", createFetch });
}
