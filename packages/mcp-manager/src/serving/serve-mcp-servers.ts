import type { EgressMode } from "@budgie/core";
import type { Protocol, ProtocolTurn } from "@budgie/core/protocol";
import { namesServers, needsCopy, copiesFolder, writeShownFile } from "./write-shown-file.ts";
import type { ServeAgentOptions, ServedCall, ServingStep } from "./shared-servers.ts";

/**
 * Creates a step that gives agents in a sandbox the MCP servers that they are allowed, and Kiro's agents no others. An agent whose file
 * Kiro's V2 harness cannot read is shown to it in a copy.
 */
export function serveMcpServers(options: ServeAgentOptions): ServingStep {
  const { allowMcp, kiroHarness, mcp, sandbox } = options.config;
  let serving: Promise<ServingStep> | undefined;
  const served = new Set<string>();

  function hasServers({ file, name, program, remote }: ProtocolTurn["agent"]): boolean {
    if (remote !== undefined) return false;
    if (program !== undefined) return mcp.has(name) || allowMcp.length > 0;
    // Without a sandbox, V2 starts the servers itself. A file that no longer names any ends those that it named.
    return (sandbox || kiroHarness === "v3") && (served.has(file) || namesServers({ file, name }));
  }

  function isReadable(agent: ProtocolTurn["agent"]): boolean {
    const isKiros = agent.program === undefined && agent.remote === undefined;
    return !isKiros || kiroHarness === "v3" || !needsCopy(agent);
  }

  return async (turn, next) => {
    const { agent } = turn.request;
    if (hasServers(agent)) {
      served.add(agent.file);
      // Imported late, since most agents have none.
      serving ??= import("./serve-agent.ts").then(({ createServeAgent }) => createServeAgent(options));
      return (await serving)(turn, next);
    }
    turn.shown = isReadable(agent) ? undefined : writeShownFile(agent, { folder: copiesFolder(options) });
    return next();
  };
}

/** Returns a protocol whose agents go through this step, where no other step is needed. */
export function withStep(protocol: Protocol, step: ServingStep, mode: EgressMode = "allowlist"): Protocol {
  return (turn) => {
    const { agent, session } = turn;
    const served: ServedCall = {
      request: { agent, policy: { egress: { mode } } },
      session: { home: session },
      events: turn.events,
      report: {},
      shown: undefined,
      offered: undefined,
    };
    return step(served, () => {
      const { offered, shown } = served;
      return protocol({ ...turn, offered, agent: shown === undefined ? agent : { ...agent, shown } });
    });
  };
}
