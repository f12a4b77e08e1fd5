import { setImmediate as nextTurn } from "node:timers/promises";
import { createOwner } from "@budgie/core";
import type { ServerConfig } from "./config/server-config.ts";
import { createRunner } from "./server/create-runner.ts";
import type { Host } from "./process/host.ts";
import type { HttpOptions } from "./server/create-tool-server.ts";
import { createShutdown } from "./process/shutdown.ts";

/**
 * Serves the agents until a signal or, over stdio, until the client disconnects. Without `http` it serves over stdio. Rejects if the
 * start fails.
 */
export async function serve(config: ServerConfig, host: Host, http: HttpOptions | undefined): Promise<never> {
  const shutdown = createShutdown(host);
  const owner = createOwner({ stateDir: config.stateDir, isolation: config.sandbox ? "container" : "none" });
  // Awaited first: without the requested sandbox nothing is served.
  const [runner, { serveAgents }] = await Promise.all([createRunner(config, host, owner), loadRest()]);
  return serveAgents({ config, host, http, shutdown, owner, runner });
}

/** Imports the rest of the program while the engine answers. */
async function loadRest() {
  await nextTurn();
  return import("./serve-agents.ts");
}
