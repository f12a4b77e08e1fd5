import { setImmediate as nextTurn } from "node:timers/promises";
import { createOwner } from "@budgie/core";
import type { Config } from "../config/config.ts";
import { checkOptions } from "./check-options.ts";
import { createRunner } from "./create-runner.ts";
import type { Host } from "../process/host.ts";
import { loadHttpOptions } from "./http-options.ts";
import { createShutdown } from "../process/shutdown.ts";

/** Serves the agents until a signal or, over stdio, until the client disconnects. Rejects if the start fails. */
export async function serve(config: Config, host: Host): Promise<never> {
  checkOptions(config, host);
  const http = loadHttpOptions(config, host);
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
