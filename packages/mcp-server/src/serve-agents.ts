import type { ToolMode } from "./config/naming-options.ts";
import type { Owner, Runner } from "@budgie/core";
import { HEALTH_RUNS, buildHealthReport } from "@budgie/core/runs";
import { findSqliteProblem } from "@budgie/store";
import { openUserFileTrust } from "./config/open-user-file-trust.ts";
import type { ServerConfig } from "./config/server-config.ts";
import { createToolServer, type HttpOptions } from "./server/create-tool-server.ts";
import { createTurns } from "./server/create-turns.ts";
import { createClients } from "./server/create-clients.ts";
import { createAgentPoll } from "./agents/agent-poll.ts";
import type { Host } from "./process/host.ts";
import { createConnection } from "./mcp/connection/connection.ts";
import type { Shutdown } from "./process/shutdown.ts";
import { startupMessages } from "./server/startup-messages.ts";
import { loadVersion } from "./process/load-version.ts";

/** The parts that serving needs. */
export type Serving = {
  readonly config: ServerConfig;
  readonly host: Host;
  /** `undefined` for stdio */
  readonly http: HttpOptions | undefined;
  readonly shutdown: Shutdown;
  readonly owner: Owner;
  readonly runner: Runner;
};

/** Serves the agents with this runner until the program exits. Rejects if the start fails. */
export async function serveAgents({ config, host, http, owner, runner, shutdown }: Serving): Promise<never> {
  const turns = await createTurns({ config, host, owner, runner });
  const { catalog, nesting, runLog, runTurn, sessions, sweeper } = turns;
  const createTools = createClients(config, {
    tools: catalog.tools,
    nesting,
    runTurn,
    sessions,
    changes: turns.changes,
    owner,
    fileTrust: openUserFileTrust(config, host),
    // Clients over HTTP must not see each other's sessions.
    areApart: http !== undefined,
    async health() {
      const agents = catalog.agents().map(({ name }) => name);
      const runs = await runLog.outcomes(HEALTH_RUNS);
      return buildHealthReport(runs, { agents, isolation: runner.isolation, showErrors: http === undefined });
    },
    onList: turns.prepare,
    onCall: sweeper.begin,
    report: host.report,
  });
  const [version, instructions] = [loadVersion(), buildInstructions(config.tools)];
  const shared = { createTools, version, instructions, heartbeatMs: config.heartbeatMs, report: host.report };
  const server = await createToolServer({
    http,
    host,
    version,
    connect: (transport, onClientClosed) =>
      createConnection({ ...shared, transport, onClientClosed, onDelivery: (runs, state) => void runLog[state](runs) }),
    onClientClosed: shutdown.begin,
  });
  const poll = createAgentPoll({
    hasChanged: catalog.hasChanged,
    onChange: () => void (catalog.settle() && server.notifyToolListChanged()),
    report: host.report,
  });

  shutdown.onBegin(async () => {
    poll.close();
    sweeper.stop();
    await Promise.allSettled([server.close(), runner.close()]);
    // A call that had just begun may have opened its session meanwhile.
    await turns.close();
  });
  const start = { config, runner, nesting, toolCount: catalog.tools().length, sqliteProblem: findSqliteProblem() };
  for (const line of startupMessages(start)) host.report(line);
  await server.start();
  poll.start();
  return shutdown.ended;
}

/** Returns the server's instructions: a description of all tools, for a client's model. */
function buildInstructions(mode: ToolMode): string {
  return `${BEGINNINGS[mode]} An agent works on its own in the directory you name and answers once. It knows nothing of your conversation: put all it needs in the prompt. The last text of a result is the server's, not the agent's: it has warnings, and the sessionId to pass to resume the conversation.`;
}

const BEGINNINGS: Readonly<Record<ToolMode, string>> = {
  agents: "Each tool is an agent.",
  router: "list_agents names the agents, and invoke_agent runs one of them.",
  both: "Each tool is an agent; list_agents names them all, and invoke_agent runs any of them.",
};
