import type { OfferedServers } from "@budgie/core/protocol";

/** Returns the offer of one MCP server. */
export function toOffered(name: string, onRefused = (): void => undefined): OfferedServers {
  return { servers: [{ name, url: `http://127.0.0.1:3128/${name}` }], onRefused };
}
