import { HEALTH_RUNS, toHealthReport, type Owner, type Runner } from "@budgie/core";
import { findSqliteProblem } from "@budgie/store";
import type { Config } from "../config/config.ts";
import { createToolServer } from "./create-tool-server.ts";
import { createTurns } from "./create-turns.ts";
import { createClients } from "./create-clients.ts";
import { createAgentPoll } from "../agents/agent-poll.ts";
import type { Host } from "../process/host.ts";
import type { HttpOptions } from "./http-options.ts";
import { createConnection } from "../mcp/connection/connection.ts";
import { toInstructions } from "../mcp/tools/instructions.ts";
import type { Shutdown } from "../process/shutdown.ts";
import { startupMessages } from "./startup-messages.ts";
import { loadVersion } from "../process/version.ts";

/** The parts that serving needs. */
export type Serving = {
  readonly config: Config;
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
    // Clients over HTTP must not see each other's sessions.
    areApart: http !== undefined,
    async health() {
      const agents = catalog.agents().map(({ name }) => name);
      const runs = await runLog.recent({ limit: HEALTH_RUNS });
      return toHealthReport(runs, { agents, isolation: runner.isolation, showErrors: http === undefined });
    },
    onList: turns.prepare,
    onCall: sweeper.begin,
    report: host.report,
  });
  const [version, instructions] = [loadVersion(), toInstructions(config.tools)];
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
