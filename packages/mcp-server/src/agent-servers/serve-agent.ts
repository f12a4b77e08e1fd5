import { BudgieError, type McpServerReport, type Protocol, type ProtocolAnswer, type ProtocolTurn } from "@budgie/core";
import { toEventText, type ServerEvent } from "@budgie/mcp-manager";
import type { Config } from "../config/config.ts";
import { toCopiesFolder, writeShownFile } from "./agent-file.ts";
import { findServersOf, toRefusal, type FoundServer, type UsableServer } from "./find-servers.ts";
import { openSessionServers, toPlaceFacts, type SessionServers } from "./session-servers.ts";
import type { ServeAgentOptions } from "./shared-servers.ts";

/** Creates a protocol that gives an agent in a sandbox the MCP servers that it is allowed, for as long as its session lasts. */
export function createServeAgent(protocol: Protocol, options: ServeAgentOptions): Protocol {
  const { config, host } = options;
  const sessions = new Map<string, SessionServers>();
  const folder = toCopiesFolder(options);

  /** Returns the servers of a session, and replaces them when the configuration or the agent's file allows others. */
  async function open(turn: ProtocolTurn, usable: readonly UsableServer[]): Promise<SessionServers | undefined> {
    const { id } = turn.session;
    const before = sessions.get(id);
    if (before?.isFor(usable) === true) return before;
    // Awaits only if there are old ones, so that two turns that begin at once open one set.
    if (before !== undefined) await before.close();
    if (usable.length === 0) return undefined;
    const opened = openSessionServers(turn.session, usable, options);
    opened.onEnd(() => void (sessions.get(id) === opened && sessions.delete(id)));
    sessions.set(id, opened);
    return opened;
  }

  /** Returns a turn whose agent finds its servers in its file. */
  function toShown(turn: ProtocolTurn, servers: SessionServers | undefined): ProtocolTurn {
    const shown = writeShownFile(turn.agent, { folder, servers: servers?.reachable ?? new Map() });
    servers?.shows(shown);
    return { ...turn, agent: { ...turn.agent, shown } };
  }

  /** Returns true for a program that takes its servers in the protocol: Kiro's V2 harness has them in the agent's file. */
  function isOffered({ program }: ProtocolTurn["agent"]): boolean {
    return program !== undefined || config.kiroHarness === "v3";
  }

  return async (turn) => {
    const { agent, onActivity, onMcpCall } = turn;
    const found = findServersOf([agent], { config, host });
    const unreachable = toUnreachable(turn, config);
    const usable = found.flatMap(({ use }) => ("server" in use && unreachable === undefined ? [use] : []));
    const barred = turn.egress === "none" ? usable.filter(hasNetwork) : [];
    const servers = await open(
      turn,
      usable.filter((one) => !barred.includes(one)),
    );
    const unfollow = servers?.follow({ onEvent: (event) => tell(event, onActivity), onCall: onMcpCall });
    const report = (): Facts => {
      const started = servers?.report() ?? [];
      const mcpServers = [...started, ...barred.map(toBarredReport)];
      const leftOut = [...toLeftOut(found, unreachable), ...toBarredText(barred)];
      return {
        mcpServers: mcpServers.length === 0 ? undefined : mcpServers,
        warnings: [...leftOut, ...toFailures(started, agent.name)],
      };
    };
    try {
      const answer = await protocol(isOffered(agent) ? toOffered(turn, servers) : toShown(turn, servers));
      const { mcpServers, warnings } = report();
      return { ...answer, mcpServers, warnings: [...answer.warnings, ...warnings] };
    } catch (error) {
      if (error instanceof BudgieError) addTo(error, report());
      throw error;
    } finally {
      unfollow?.();
    }
  };
}

/** Returns a turn that offers its servers to the agent's program. */
function toOffered(turn: ProtocolTurn, servers: SessionServers | undefined): ProtocolTurn {
  if (servers === undefined) return turn;
  const addresses = [...servers.reachable].map(([name, { url }]) => ({ name, url }));
  return { ...turn, offered: { servers: addresses, onRefused: () => servers.refuse(REFUSED) } };
}

const REFUSED = "the agent's program takes no MCP servers over HTTP";

type Facts = Pick<ProtocolAnswer, "mcpServers" | "warnings">;

function addTo(error: BudgieError, { mcpServers, warnings }: Facts): void {
  error.report = { ...error.report, mcpServers, warnings: [...(error.report.warnings ?? []), ...warnings] };
}

/** Returns the reason why the agent's sandbox cannot reach budgie; `undefined` if it can. */
function toUnreachable({ agent, session }: ProtocolTurn, { policies, sandbox }: Config): string | undefined {
  if (!sandbox) return "without a sandbox it has those of its own settings alone";
  const { mode } = (policies.agents.get(agent.name) ?? policies.ceiling).egress;
  if (mode === "bridge") return 'with the egress mode "bridge" its sandbox cannot reach budgie';
  return session.serve === undefined ? "the engine is elsewhere, so its sandbox cannot reach budgie" : undefined;
}

function hasNetwork(one: UsableServer): boolean {
  return toPlaceFacts(one).egress.mode !== "none";
}

const NO_EGRESS = 'the turn has the egress mode "none"';

/** Returns the report of a server that would be a way out for an agent that has none. */
function toBarredReport(one: UsableServer): McpServerReport {
  const facts = { name: one.server.name, state: "not-launched", tools: 0, calls: 0, failed: 0 } as const;
  return { ...facts, ...toPlaceFacts(one), error: `${NO_EGRESS}, and it has a network of its own` };
}

function toBarredText(barred: readonly UsableServer[]): readonly string[] {
  if (barred.length === 0) return [];
  const names = barred.slice(0, MOST_NAMED).map(({ server }) => server.name);
  const more = barred.length > names.length ? ` and ${barred.length - names.length} more` : "";
  return [
    `The agent did not get the MCP servers ${names.join(", ")}${more}, since ${NO_EGRESS}, and each has a network of its own.`,
  ];
}

const MOST_NAMED = 10;

/** Returns sentences about the servers that the agent did not get. */
function toLeftOut(found: readonly FoundServer[], unreachable: string | undefined): readonly string[] {
  const usable = found.filter(({ use }) => "server" in use).map(({ name }) => name);
  const others = found.filter(({ use }) => "state" in use && use.state !== "disabled");
  const missing = `The agent did not get the MCP servers ${usable.join(", ")}, since ${unreachable}.`;
  return [
    ...(unreachable === undefined || usable.length === 0 ? [] : [missing]),
    ...others.slice(0, MOST_NAMED).map(toRefusal),
    ...(others.length > MOST_NAMED ? [`The agent did not get ${others.length - MOST_NAMED} more MCP servers.`] : []),
  ];
}

function toFailures(reports: readonly McpServerReport[], agent: string): readonly string[] {
  return reports.flatMap(({ error, name, state, toolsChanged }) => {
    const toAdvice = (command: string): string => `the user can run "budgie mcp ${command} ${name} --agent ${agent}".`;
    if (state === "needs-auth") return [`The MCP server "${name}" wants a login: ${toAdvice("login")}`];
    if (toolsChanged === true)
      return [`The tools of the MCP server "${name}" differ from the approved ones: ${toAdvice("tools")}`];
    return state === "error"
      ? [`The MCP server "${name}" could not be used: ${(error ?? "").replace(/\.$/, "")}.`]
      : [];
  });
}

const NEWS: ReadonlySet<string> = new Set(["error", "needs-auth", "ready", "restarting", "tools-changed"]);

function tell(event: ServerEvent, onActivity: ProtocolTurn["onActivity"]): void {
  if (NEWS.has(event.kind)) onActivity?.(toEventText(event));
}
