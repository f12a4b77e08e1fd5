import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import type { ServerStatus } from "@budgie/mcp-manager";
import { findServers, type FoundServer } from "@budgie/mcp-manager/agents";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { findPolicy, toServersConfig } from "@budgie/mcp-server/commands";
import type { Managed } from "../mcp/with-manager.ts";
import type { Finding } from "./finding.ts";

/** Starts the MCP servers that agents are allowed. Reports on them, and on those that are not allowed. */
export async function inspectServers(config: Config, signal: AbortSignal, host: Host): Promise<readonly Finding[]> {
  try {
    // Silent, since the findings have the problems of files and servers.
    const parts = { config, signal, host: { ...host, report: () => undefined } };
    const found = findServers(toServersConfig(config, parts.host), { agent: undefined });
    const states = await start(found, parts);
    return [
      ...found.map((server, index) => inspectServer(server, states[index], config)),
      ...listUnnamed(found, config).map(makeNote),
    ];
  } catch (error) {
    if (error instanceof BudgieError) return [{ state: "failed", what: "mcp", text: error.message }];
    throw error;
  }
}

async function start(
  found: readonly FoundServer[],
  parts: Omit<Managed, "servers">,
): Promise<readonly (ServerStatus | undefined)[]> {
  if (found.every(({ use }) => "reason" in use)) return [];
  // Imported late, as it loads an MCP client.
  const { startServers } = await import("../mcp/start-servers.ts");
  return startServers(found, parts);
}

function inspectServer(found: FoundServer, status: ServerStatus | undefined, config: Config): Finding {
  const { agent, name, use } = found;
  if ("server" in use) return inspectStarted(found, status, { place: PLACES[use.place.run], config });
  if ("todo" in use)
    return { state: "failed", what: "mcp", text: formatServer(found, `is not started: ${use.reason}`), todo: use.todo };
  const isWanted = use.state === "broken" && config.mcp.get(agent)?.has(name) === true;
  return {
    state: isWanted ? "failed" : "note",
    what: "mcp",
    text: formatServer(found, `is not started: ${use.reason}`),
  };
}

type Around = { readonly place: string; readonly config: Config };

function inspectStarted(found: FoundServer, status: ServerStatus | undefined, { config, place }: Around): Finding {
  const { error = "it did not start", state, tools = 0 } = status ?? {};
  if (state === "ready") {
    const flaws = listFlaws(found, status, config);
    const text = [`has ${tools === 1 ? "1 tool" : `${tools} tools`}, ${place}`, ...flaws].join(", and ");
    return { state: flaws.length === 0 ? "ok" : "note", what: "mcp", text: formatServer(found, text) };
  }
  if (state !== "needs-auth")
    return { state: "failed", what: "mcp", text: formatServer(found, `cannot be used: ${error}`) };
  const todo = `budgie mcp login ${found.name} --agent ${found.agent}`;
  return { state: "failed", what: "mcp", text: formatServer(found, "wants a login"), todo };
}

/** Returns the flaws of a server that works. */
function listFlaws({ agent }: FoundServer, status: ServerStatus | undefined, config: Config): readonly string[] {
  const { mode } = findPolicy(config, agent).egress;
  return [
    ...(status?.toolsChanged === true ? ["they differ from the approved ones"] : []),
    ...(config.sandbox && mode === "bridge" ? ['with the egress mode "bridge" the agent does not get it'] : []),
  ];
}

function formatServer({ agent, name }: FoundServer, text: string): string {
  return escapeForTerminal(`${agent}: "${name}" ${text}`);
}

const PLACES = { address: "at an address", host: "on this machine", sandbox: "in a container" } as const;

/** Returns a sentence on each server that the configuration allows, but that no agent's file names. */
function listUnnamed(found: readonly FoundServer[], { mcp }: Config): readonly string[] {
  return [...mcp].flatMap(([agent, sections]) =>
    [...sections.keys()]
      .filter((name) => !found.some((server) => server.agent === agent && server.name === name))
      .map((name) => `${agent}: "${name}" is allowed, and the agent's file does not name it`),
  );
}

function makeNote(text: string): Finding {
  return { state: "note", what: "mcp", text };
}
