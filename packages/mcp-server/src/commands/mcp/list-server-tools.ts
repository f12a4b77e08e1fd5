import { hashTools } from "@budgie/mcp-manager";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { interruptible } from "../../process/interruptible.ts";
import { escapeForTerminal } from "../../terminal/printable.ts";
import { toSafeJson } from "../../terminal/safe-json.ts";
import { findServer, findServers, type McpChoice } from "../../agent-servers/find-servers.ts";
import { withManager } from "./with-manager.ts";

type Options = McpChoice & { readonly name: string; readonly json: boolean };

/** Runs `budgie mcp tools`: prints the tools that may be called, and the hash of their definitions. */
export async function listServerTools(config: Config, { name, json, ...choice }: Options, host: Host): Promise<number> {
  const server = findServer(findServers(config, choice, host), name);
  const tools = await interruptible(host, (signal) =>
    withManager({ config, host, servers: [server], signal }, (manager) => manager.tools(name)),
  );
  const hash = hashTools(tools);
  if (json) host.stdout.write(toSafeJson({ name, hash, tools }));
  else {
    const lines = tools.map((tool) => `${tool.name}  ${tool.description.split("\n", 1)[0] ?? ""}`.trimEnd());
    host.stdout.write([...lines, "", `toolsHash ${hash}`, ""].map((line) => escapeForTerminal(line)).join("\n"));
  }
  return 0;
}
