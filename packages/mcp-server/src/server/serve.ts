import { setImmediate as nextTurn } from "node:timers/promises";
import { createOwner } from "@budgie/core";
import type { Config } from "../config/config.ts";
import { createRunner } from "./create-runner.ts";
import type { Host } from "../process/host.ts";
import { loadHttpOptions } from "../config/http-options.ts";
import { createShutdown } from "../process/shutdown.ts";

/** Serves the agents until a signal comes, or over stdio the client goes away; only a failing start lets it return. */
export async function serve(config: Config, host: Host): Promise<never> {
  const http = loadHttpOptions(config, host);
  const shutdown = createShutdown(host);
  const owner = createOwner({ stateDir: config.stateDir, isolation: config.sandbox ? "container" : "none" });
  // First of all, and waited for: without the sandbox that was asked for nothing is served.
  const [runner, { serveAgents }] = await Promise.all([createRunner(config, host, owner), loadRest()]);
  return serveAgents({ config, host, http, shutdown, owner, runner });
}

/** Half of the program, once the engine has been asked: it thinks meanwhile. */
async function loadRest() {
  await nextTurn();
  return import("./serve-agents.ts");
}
