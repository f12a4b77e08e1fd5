import { BudgieError, type McpServerReport } from "@budgie/core";
import type { TurnEvents } from "@budgie/core/protocol";
import { findServersOf, formatRefusal, type FoundServer, type UsableServer } from "../agents/find-servers.ts";
import type { ServersConfig } from "../agents/servers-config.ts";
import { formatEvent, type ServerEvent } from "../server/server-state.ts";
import { copiesFolder, writeShownFile } from "./write-shown-file.ts";
import { openSessionServers, placeFacts, type SessionServers } from "./session-servers.ts";
import type { ServeAgentOptions, ServedCall, ServingStep } from "./shared-servers.ts";

/** Creates a step that gives an agent in a sandbox the MCP servers that it is allowed, for as long as its session lasts. */
export function createServeAgent(options: ServeAgentOptions): ServingStep {
  const { config } = options;
  const sessions = new Map<string, SessionServers>();
  const folder = copiesFolder(options);

  /** Returns the servers of a session, and replaces them when the configuration or the agent's file allows others. */
  async function open(
    { session: { home } }: ServedCall,
    usable: readonly UsableServer[],
  ): Promise<SessionServers | undefined> {
    const before = sessions.get(home.id);
    if (before?.isFor(usable) === true) return before;
    // Awaits only if there are old ones, so that two turns that begin at once open one set.
    if (before !== undefined) await before.close();
    if (usable.length === 0) return undefined;
    const opened = openSessionServers(home, usable, options);
    opened.onEnd(() => void (sessions.get(home.id) === opened && sessions.delete(home.id)));
    sessions.set(home.id, opened);
    return opened;
  }

  /** Shows the agent its servers: in the protocol, or in its file, where Kiro's V2 harness has them. */
  function show(turn: ServedCall, servers: SessionServers | undefined): void {
    const { agent } = turn.request;
    const isOffered = agent.program !== undefined || config.kiroHarness === "v3";
    turn.offered = isOffered ? toOffered(servers) : undefined;
    turn.shown = isOffered ? undefined : writeShownFile(agent, { folder, servers: servers?.reachable ?? new Map() });
    if (turn.shown !== undefined) servers?.shows(turn.shown);
  }

  return async (turn, next) => {
    const { events, request } = turn;
    const { agent } = request;
    const found = findServersOf([agent], config);
    const unreachable = findUnreachable(turn, config);
    const usable = found.flatMap(({ use }) => ("server" in use && unreachable === undefined ? [use] : []));
    const barred = request.policy.egress.mode === "none" ? usable.filter(hasNetwork) : [];
    const servers = await open(
      turn,
      usable.filter((one) => !barred.includes(one)),
    );
    const unfollow = servers?.follow({
      onEvent: (event) => tell(event, events),
      onCall: (call) => void events.emit("mcpCall", call),
    });

    function report(): readonly string[] {
      const started = servers?.report() ?? [];
      const mcpServers = [...started, ...barred.map(reportBarred)];
      turn.report.mcpServers = mcpServers.length === 0 ? undefined : mcpServers;
      const leftOut = [...explainLeftOut(found, unreachable), ...formatBarred(barred)];
      return [...leftOut, ...explainFailures(started, agent.name)];
    }

    try {
      show(turn, servers);
      const answer = await next();
      return { ...answer, warnings: [...answer.warnings, ...report()] };
    } catch (error) {
      const warnings = report();
      if (error instanceof BudgieError) addTo(error, warnings);
      throw error;
    } finally {
      unfollow?.();
    }
  };
}

/** Returns the servers for a program that takes them in its protocol. */
function toOffered(servers: SessionServers | undefined): ServedCall["offered"] {
  if (servers === undefined) return undefined;
  const addresses = [...servers.reachable].map(([name, { url }]) => ({ name, url }));
  return { servers: addresses, onRefused: () => servers.refuse(REFUSED) };
}

const REFUSED = "the agent's program takes no MCP servers over HTTP";

function addTo(error: BudgieError, warnings: readonly string[]): void {
  error.report = { ...error.report, warnings: [...(error.report.warnings ?? []), ...warnings] };
}

/** Returns the reason why the agent's sandbox cannot reach budgie; `undefined` if it can. */
function findUnreachable({ request: { policy }, session }: ServedCall, { sandbox }: ServersConfig): string | undefined {
  if (!sandbox) return "without a sandbox it has those of its own settings alone";
  if (policy.egress.mode === "bridge") return 'with the egress mode "bridge" its sandbox cannot reach budgie';
  return session.home.serve === undefined ? "the engine is elsewhere, so its sandbox cannot reach budgie" : undefined;
}

function hasNetwork(one: UsableServer): boolean {
  return placeFacts(one).egress.mode !== "none";
}

const NO_EGRESS = 'the turn has the egress mode "none"';

/** Returns the report of a server that would be a way out for an agent that has none. */
function reportBarred(one: UsableServer): McpServerReport {
  const facts = { name: one.server.name, state: "not-launched", tools: 0, calls: 0, failed: 0 } as const;
  return { ...facts, ...placeFacts(one), error: `${NO_EGRESS}, and it has a network of its own` };
}

function formatBarred(barred: readonly UsableServer[]): readonly string[] {
  if (barred.length === 0) return [];
  const names = barred.slice(0, MOST_NAMED).map(({ server }) => server.name);
  const more = barred.length > names.length ? ` and ${barred.length - names.length} more` : "";
  return [
    `The agent did not get the MCP servers ${names.join(", ")}${more}, since ${NO_EGRESS}, and each has a network of its own.`,
  ];
}

const MOST_NAMED = 10;

/** Returns sentences about the servers that the agent did not get. */
function explainLeftOut(found: readonly FoundServer[], unreachable: string | undefined): readonly string[] {
  const usable = found.filter(({ use }) => "server" in use).map(({ name }) => name);
  const others = found.filter(({ use }) => "state" in use && use.state !== "disabled");
  const missing = `The agent did not get the MCP servers ${usable.join(", ")}, since ${unreachable}.`;
  return [
    ...(unreachable === undefined || usable.length === 0 ? [] : [missing]),
    ...others.slice(0, MOST_NAMED).map(formatRefusal),
    ...(others.length > MOST_NAMED ? [`The agent did not get ${others.length - MOST_NAMED} more MCP servers.`] : []),
  ];
}

function explainFailures(reports: readonly McpServerReport[], agent: string): readonly string[] {
  return reports.flatMap(({ error, name, state, toolsChanged }) => {
    const formatAdvice = (command: string): string =>
      `the user can run "budgie mcp ${command} ${name} --agent ${agent}".`;
    if (state === "needs-auth") return [`The MCP server "${name}" wants a login: ${formatAdvice("login")}`];
    if (toolsChanged === true)
      return [`The tools of the MCP server "${name}" differ from the approved ones: ${formatAdvice("tools")}`];
    return state === "error"
      ? [`The MCP server "${name}" could not be used: ${(error ?? "").replace(/\.$/, "")}.`]
      : [];
  });
}

const NEWS: ReadonlySet<string> = new Set(["error", "needs-auth", "ready", "restarting", "tools-changed"]);

function tell(event: ServerEvent, events: TurnEvents): void {
  if (NEWS.has(event.kind)) events.emit("activity", formatEvent(event));
}
