import { hashTools } from "@budgie/mcp-manager";
import { findServer, findServers, type McpChoice } from "@budgie/mcp-manager/agents";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { interruptible } from "../../process/interruptible.ts";
import { escapeForTerminal } from "@budgie/core/text";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { withManager } from "./with-manager.ts";

type Options = McpChoice & { readonly name: string; readonly json: boolean };

/** Runs `budgie mcp tools`: prints the tools that may be called, and the hash of their definitions. */
export async function listServerTools(config: Config, { name, json, ...choice }: Options, host: Host): Promise<number> {
  const server = findServer(findServers(toServersConfig(config, host), choice), name);
  const tools = await interruptible(host, (signal) =>
    withManager({ config, host, servers: [server], signal }, (manager) => manager.tools(name)),
  );
  const hash = hashTools(tools);
  if (json) host.stdout.write(stringifySafely({ name, hash, tools }));
  else {
    const lines = tools.map((tool) => `${tool.name}  ${tool.description.split("\n", 1)[0] ?? ""}`.trimEnd());
    host.stdout.write([...lines, "", `toolsHash ${hash}`, ""].map((line) => escapeForTerminal(line)).join("\n"));
  }
  return 0;
}
