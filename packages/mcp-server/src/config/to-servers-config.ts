import { join } from "node:path";
import type { ServersConfig } from "@budgie/mcp-manager/agents";
import type { Host } from "../process/host.ts";
import { loadVersion } from "../process/load-version.ts";
import { findUpstreamProxy } from "./check-sandbox-options.ts";
import { findKiroFolder, stateDirOption } from "./host-paths.ts";
import type { ServerConfig } from "./server-config.ts";

type ServersHost = Pick<Host, "env" | "home" | "report">;

/** Returns the part of a configuration, and of the host, that agents' MCP servers depend on. */
export function toServersConfig(config: ServerConfig, host: ServersHost): ServersConfig {
  const { config: file, stateDir } = config;
  const { env, home, report } = host;
  return {
    agentsDir: config.agentsDir,
    promptsDir: config.promptsDir,
    configuredAgents: config.configuredAgents,
    mcp: config.mcp,
    allowMcp: config.allowMcp,
    mcpRegistry: config.mcpRegistry,
    kiroHarness: config.kiroHarness,
    trustAllTools: config.trustAllTools,
    sandbox: config.sandbox,
    isOnCluster: config.cluster !== undefined,
    stateDir,
    settingsFile: join(findKiroFolder(host), "settings", "mcp.json"),
    commandOptions: [...(file === undefined ? [] : ["--config", file]), ...stateDirOption(stateDir, host)],
    version: loadVersion(),
    env,
    home,
    upstream: findUpstream(env),
    report,
  };
}

function findUpstream(env: Host["env"]): ServersConfig["upstream"] {
  const url = findUpstreamProxy(env);
  const noProxy = env["NO_PROXY"] ?? env["no_proxy"];
  return url === undefined ? undefined : { url, ...(noProxy === undefined ? {} : { noProxy }) };
}
