import { sanitizeText, escapeForTerminal } from "@budgie/core/text";
import type { McpProgress, ToolResult } from "@budgie/mcp-manager";
import { findServer, findServers } from "@budgie/mcp-manager/agents";
import type { Config } from "../../config/config.ts";
import { EXIT, type Host } from "@budgie/mcp-server";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { interruptible } from "../../process/interruptible.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import type { ToolCallArguments } from "./mcp-commands.ts";
import { withManager } from "./with-manager.ts";

/** Runs `budgie mcp call`: calls a tool once, and prints what it returns. Resolves to 1 if the tool says that it failed. */
export async function callServerTool(config: Config, call: ToolCallArguments, host: Host): Promise<number> {
  const { arguments: given, json, name, tool, ...choice } = call;
  const server = findServer(findServers(toServersConfig(config, host), choice), name);
  const onProgress = ({ message }: McpProgress): void =>
    void (message && host.report(escapeForTerminal(`${name}: ${message}`)));
  const result = await interruptible(host, (signal) =>
    withManager({ config, host, servers: [server], signal }, (manager) =>
      manager.call(name, { name: tool, arguments: given }, { signal, onProgress }),
    ),
  );
  host.stdout.write(json ? stringifySafely(result) : formatResult(result));
  return result.isError ? EXIT.failed : EXIT.done;
}

/** Returns the text of a result. Other parts are named by their type. */
function formatResult({ content }: ToolResult): string {
  const parts = content.map(({ text, type }) =>
    type === "text" && typeof text === "string" ? text : `[${String(type)}]`,
  );
  return `${sanitizeText(parts.join("\n"))}\n`;
}
