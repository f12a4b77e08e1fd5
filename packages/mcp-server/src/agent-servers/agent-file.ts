import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { ensureMountedFile, parseJson } from "@budgie/core";

/** The URL of a server in a sandbox, and the timeout of one request, in milliseconds. */
export type Reachable = { readonly url: string; readonly timeoutMs: number };

/** Tells whether an agent's file names MCP servers, or includes those of the user's settings. */
export function namesServers(file: string): boolean {
  const { includeMcpJson, mcpServers, useLegacyMcpJson } = readAgent(file);
  return includeMcpJson === true || useLegacyMcpJson === true || Object.keys(Object(mcpServers)).length > 0;
}

/** Writes the copy of an agent's file that a sandbox shows, with these servers in place of its own. Returns its path. */
export function writeShownFile(file: string, servers: ReadonlyMap<string, Reachable>, folder: string): string {
  const text = JSON.stringify(toShown(readAgent(file), servers), undefined, 2);
  // Named by its content, since a mounted file must not change.
  const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
  return ensureMountedFile(folder, `${name}-${basename(file)}`, text);
}

type AgentJson = Readonly<Record<string, unknown>>;

function toShown(agent: AgentJson, servers: ReadonlyMap<string, Reachable>): AgentJson {
  const rest = Object.entries(agent).filter(([key]) => !KEYS.has(key));
  const entries = [...servers].map(([name, { timeoutMs, url }]) => [name, { type: "http", url, timeout: timeoutMs }]);
  return { ...Object.fromEntries(rest), mcpServers: Object.fromEntries(entries) };
}

const KEYS: ReadonlySet<string> = new Set(["includeMcpJson", "mcpServers", "useLegacyMcpJson"]);

/** Reads an agent's file; empty if that fails, which the agent's turn reports. */
function readAgent(file: string): AgentJson {
  try {
    return Object(parseJson(readFileSync(file, "utf8"))) as AgentJson;
  } catch {
    return {};
  }
}
