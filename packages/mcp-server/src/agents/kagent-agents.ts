import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, loadAgents, type Agent } from "@budgie/core";
import type { ServerConfig, KagentSection } from "../config/server-config.ts";
import { findRefusedRemotes } from "../config/check-sandbox-options.ts";
import { fillHeaders } from "./fill-headers.ts";
import { buildRemoteAgent } from "./build-remote-agent.ts";
import type { Host } from "../process/host.ts";

/** The agents of a kagent backend, as they come and go. */
export type KagentAgents = {
  /** Returns the agents in the last list. An unchanged agent is the same object. */
  readonly agents: () => readonly Agent[];
  /** Fetches the list at once, and then every 30 s. Resolves with the first list, or after a short wait without it. */
  readonly start: () => Promise<void>;
  readonly close: () => void;
};

export type KagentAgentsOptions = Pick<Host, "env" | "report"> & {
  /** The time between lists; default 30 s */
  readonly intervalMs?: number;
  /** The time that `start` waits for a list; default 2 s */
  readonly waitMs?: number;
};

const INTERVAL_MS = 30_000;
const WAIT_MS = 2_000;
const LIMIT_MS = 10_000;

/** Creates the agents of a backend. A backend that does not answer keeps its agents, and is reported once until it answers again. */
export function createKagentAgents(section: KagentSection, options: KagentAgentsOptions): KagentAgents {
  const { env, intervalMs = INTERVAL_MS, report, waitMs = WAIT_MS } = options;
  const end = new AbortController();
  let known = new Map<string, Agent>();
  let isReported = false;

  async function list(): Promise<void> {
    // Imported late, since most servers have no backend.
    const { listKagentAgents } = await import("@budgie/protocols/a2a");
    const headers = fillHeaders(section.headers, env, 'The section "kagent" of the configuration file');
    const signal = AbortSignal.any([end.signal, AbortSignal.timeout(LIMIT_MS)]);
    const found = await listKagentAgents({ url: section.url, headers }, { signal });
    const { allowRemote } = section;
    known = new Map(
      found.map(({ description, name, server: { namesContext, url } }) => {
        const key = JSON.stringify([name, description, url, namesContext]);
        // Variables in headers are expanded for each call.
        const remote = { url, headers: section.headers, allowRemote, namesContext };
        const about = description === "" ? `The agent ${name}.` : description;
        return [key, known.get(key) ?? buildRemoteAgent(name, { ...remote, description: about, file: url })];
      }),
    );
  }

  async function look(): Promise<void> {
    try {
      await list();
      isReported = false;
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
      if (!isReported && !end.signal.aborted) report(`The agents of kagent stay as they were. ${error.message}`);
      isReported = true;
    }
  }

  async function follow(): Promise<void> {
    while (!end.signal.aborted) {
      await sleep(intervalMs, undefined, { ref: false, signal: end.signal }).catch(() => undefined);
      if (!end.signal.aborted) await look();
    }
  }

  return {
    agents: () => [...known.values()],
    async start() {
      const first = look();
      void first.then(follow);
      await Promise.race([first, sleep(waitMs, undefined, { ref: false, signal: end.signal }).catch(() => undefined)]);
    },
    close: () => end.abort(),
  };
}

/** Returns the configuration with the backend's agents, which are looked up whenever its agents are read. */
export function withPresentAgents(config: ServerConfig, kagent: KagentAgents | undefined): ServerConfig {
  if (kagent === undefined) return config;
  return {
    ...config,
    get configuredAgents() {
      return [...(config.configuredAgents ?? []), ...kagent.agents()];
    },
  };
}

/**
 * Returns the configuration of a command that is not a server, with the agents that the backend has now. Does not ask a backend
 * that a server would refuse.
 */
export async function withKagentAgents<Config extends ServerConfig>(
  config: Config,
  host: Pick<Host, "env" | "report">,
): Promise<Config> {
  if (config.kagent === undefined) return config;
  const [refusal] = findRefusedRemotes({ ...config, configuredAgents: [] });
  if (refusal !== undefined) {
    host.report(refusal);
    return { ...config, kagent: undefined };
  }
  const kagent = createKagentAgents(config.kagent, { ...host, waitMs: LIMIT_MS });
  await kagent.start();
  kagent.close();
  return { ...config, kagent: undefined, configuredAgents: [...(config.configuredAgents ?? []), ...kagent.agents()] };
}

/** Returns the configuration of a command about one agent. The backend is asked only if no agent here has exactly this name. */
export async function withKagentAgent<Config extends ServerConfig>(
  name: string,
  config: Config,
  host: Pick<Host, "env" | "report">,
): Promise<Config> {
  const isKnown = loadAgents(config).agents.some((agent) => agent.name === name);
  return isKnown ? { ...config, kagent: undefined } : withKagentAgents(config, host);
}
