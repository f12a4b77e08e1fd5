import { join } from "node:path";
import type { Owner, Runner } from "@budgie/core";
import type { DockerRunnerOptions } from "@budgie/runner-docker";
import { refuseOnCluster } from "../config/refuse-on-cluster.ts";
import { refuseMissingKey, findUpstreamProxy } from "../config/check-sandbox-options.ts";
import { listEntryVariables, findLeftOutNotice } from "../process/list-entry-variables.ts";
import type { ClusterSection, ServerConfig } from "../config/server-config.ts";
import { findKiroFolder } from "../config/host-paths.ts";
import type { Host } from "../process/host.ts";

/** Creates the runner that the checked options select. No other is loaded, nor used as a fallback. */
export async function createRunner(config: ServerConfig, host: Host, owner: Owner): Promise<Runner> {
  refuseMissingKey(config, host);
  const {
    acceptWeaker,
    ahead,
    allowRemoteCopy,
    caFile,
    credentials,
    kiroBinary: program,
    kiroDataDir,
    runtime,
    sandboxImage: image,
    sessionsDir,
    stateDir,
    warmIdleMs,
  } = config;
  const { env: hostEnv, home } = host;
  const times = { keepSessionsMs: config.keepSessions ? config.sessionTtlMs : undefined, warmIdleMs };
  if (config.cluster !== undefined) return createClusterRunner({ ...config, cluster: config.cluster }, host, owner);
  if (config.sandbox) {
    const { createDockerRunner, createKiroLogin } = await import("@budgie/runner-docker");
    const upstreamProxy = findUpstreamProxy(hostEnv);
    const network = { caFile, upstreamProxy } satisfies Partial<DockerRunnerOptions>;
    const login = createKiroLogin({ dataDir: kiroDataDir, credentials });
    const place = { image, program, owner, stateDir, home, hostEnv };
    return createDockerRunner({ ...place, acceptWeaker, allowRemoteCopy, login, runtime, ...network, ...times, ahead });
  }
  const { createLocalRunner, pickHostEnvironment } = await import("@budgie/runner-local");
  // Over HTTP, no client starts budgie.
  const entry = config.transport === "stdio" ? listEntryVariables(hostEnv, host.clientEnv()) : [];
  // Kiro then finds the agents that budgie found.
  const isKirosHome = config.agentsDir === join(findKiroFolder(host), "agents");
  const env = [...Object.keys(config.env), ...entry, ...(isKirosHome ? ["KIRO_HOME"] : [])];
  for (const notice of findLeftOutNotice(hostEnv, pickHostEnvironment(hostEnv, env))) host.report(notice);
  return createLocalRunner({ sessionsDir, stateDir, owner, hostEnv, env, ...times });
}

type ClusterConfig = ServerConfig & { readonly cluster: ClusterSection };

/** Creates the runner of a cluster. Throws for settings that it cannot serve. */
async function createClusterRunner(config: ClusterConfig, { env }: Host, owner: Owner): Promise<Runner> {
  const { cluster } = config;
  const images = refuseOnCluster(config);
  const [{ createKubernetesRunner }, { createKiroLogin }] = await Promise.all([
    import("@budgie/runner-kubernetes"),
    import("@budgie/sandbox/login"),
  ]);
  const { ahead, caFile, credentials, kiroDataDir: dataDir, runtime: runtimeClass, stateDir } = config;
  return createKubernetesRunner({
    ...cluster,
    ...images,
    owner,
    stateDir,
    limits: config.policies.ceiling.limits,
    login: createKiroLogin({ dataDir, credentials }),
    runtimeClass,
    caFile,
    upstreamProxy: findUpstreamProxy(env),
    // 0 is for processes that stand by, of which a Pod has none.
    podIdleMs: config.warmIdleMs || undefined,
    keepSessionsMs: config.keepSessions ? config.sessionTtlMs : undefined,
    ahead,
  });
}
