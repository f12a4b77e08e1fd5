import { join } from "node:path";
import type { Owner, Runner } from "@budgie/core";
import type { DockerRunnerOptions } from "@budgie/runner-docker";
import { refuseMissingKey, toUpstreamProxy } from "../config/sandbox-options.ts";
import { toEntryVariables, toLeftOutNotice } from "../process/agent-environment.ts";
import type { Config } from "../config/config.ts";
import { toKiroFolder } from "../config/host-paths.ts";
import type { Host } from "../process/host.ts";

/** Creates the runner that the checked options select. The other one is never loaded, nor used as a fallback. */
export async function createRunner(config: Config, host: Host, owner: Owner): Promise<Runner> {
  refuseMissingKey(config, host);
  const {
    acceptWeaker,
    ahead,
    caFile,
    credentials,
    kiroBinary: program,
    kiroDataDir,
    runtime,
    sandboxImage: image,
    sessionsDir,
    stateDir,
  } = config;
  const { env: hostEnv, home } = host;
  const keepSessionsMs = config.keepSessions ? config.sessionTtlMs : undefined;
  if (config.sandbox) {
    const { createDockerRunner, createKiroLogin } = await import("@budgie/runner-docker");
    const upstreamProxy = toUpstreamProxy(hostEnv);
    const network = { caFile, upstreamProxy } satisfies Partial<DockerRunnerOptions>;
    const login = createKiroLogin({ dataDir: kiroDataDir, credentials });
    const place = { image, program, owner, stateDir, home, hostEnv };
    return createDockerRunner({ ...place, acceptWeaker, ahead, login, runtime, keepSessionsMs, ...network });
  }
  const { createLocalRunner, toHostEnvironment } = await import("@budgie/runner-local");
  // Over HTTP, no client starts budgie.
  const entry = config.transport === "stdio" ? toEntryVariables(hostEnv, host.clientEnv()) : [];
  // Kiro then finds the agents that budgie found.
  const isKirosHome = config.agentsDir === join(toKiroFolder(host), "agents");
  const env = [...config.env, ...entry, ...(isKirosHome ? ["KIRO_HOME"] : [])];
  for (const notice of toLeftOutNotice(hostEnv, toHostEnvironment(hostEnv, env))) host.report(notice);
  return createLocalRunner({ sessionsDir, stateDir, owner, hostEnv, env, keepSessionsMs });
}
