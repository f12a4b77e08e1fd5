import { BudgieError, createOwner, type Owner, type SessionHomes, type HomeRecord } from "@budgie/core";
import type { Isolation } from "@budgie/core/owners";
import type { RegisterEntry, SessionRegister } from "@budgie/core/sessions";
import { createSessionRegister } from "@budgie/store";
import type { Cluster } from "@budgie/runner-kubernetes/api";
import { askCluster } from "../../cluster/ask-cluster.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";

/** A session whose home exists. */
export type KnownHome = {
  readonly record: HomeRecord;
  /** The register entry; `undefined` if another state directory has it, or if it could not be written */
  readonly entry: RegisterEntry | undefined;
  readonly isolation: Isolation;
  readonly homes: SessionHomes;
  /** The state of the present owner */
  readonly state: HomeRecord["owner"];
};

export type KnownHomes = {
  readonly list: () => Promise<readonly KnownHome[]>;
  readonly register: SessionRegister;
  readonly owner: Owner;
};

/** Runs work with all sessions on the engine and in local folders, for a command that is not a server. */
export async function withSessions<T>(
  config: Config,
  host: Host,
  work: (sessions: KnownHomes) => Promise<T>,
): Promise<T> {
  const { stateDir } = config;
  const owner = createOwner({ stateDir });
  const register = createSessionRegister({ stateDir, report: host.report });
  try {
    const places = await openPlaces(config, host, owner);
    const list = async (): Promise<readonly KnownHome[]> => {
      const entries = new Map((await register.list()).map((entry) => [entry.id, entry]));
      const found = await Promise.all(places.map((place) => listIn(place, entries, owner)));
      return found.flat();
    };
    return await work({ list, register, owner });
  } finally {
    register.close();
    await owner.release();
  }
}

type RunnerHomes = { readonly isolation: Isolation; readonly homes: SessionHomes };

async function openPlaces(config: Config, host: Host, owner: Owner): Promise<readonly RunnerHomes[]> {
  const { createLocalHomes } = await import("@budgie/runner-local");
  const homes = [await openEngine(config, host, owner), await openPods(config, host, owner)];
  return [
    ...homes.flatMap((sandboxes) =>
      sandboxes === undefined ? [] : [{ isolation: "container", homes: sandboxes } as const],
    ),
    { isolation: "none", homes: createLocalHomes({ stateDir: config.stateDir, owner }) },
  ];
}

async function openEngine(
  { cluster, stateDir }: Config,
  { env: hostEnv, home, report }: Host,
  owner: Owner,
): Promise<SessionHomes | undefined> {
  const { openDockerHomes } = await import("@budgie/runner-docker");
  try {
    return await openDockerHomes({ owner, stateDir, home, hostEnv });
  } catch (error) {
    if (!(error instanceof BudgieError) || error.code !== "RUNNER_UNAVAILABLE") throw error;
    const places = cluster === undefined ? "only local session folders are" : "containers are not";
    report(`No container engine is reachable, so ${places} looked at. ${error.message}`);
    return undefined;
  }
}

/** Opens the sessions of clusters. Those that left their Pods are in the state folder, whatever the options ask for. */
async function openPods(config: Config, host: Host, owner: Owner): Promise<SessionHomes> {
  const { openKubernetesHomes } = await import("@budgie/runner-kubernetes/maintenance");
  const connect = async (cluster: Cluster): Promise<Cluster> => {
    await cluster.version();
    return cluster;
  };
  const cluster = await askCluster(config, connect, host);
  return openKubernetesHomes({ owner, stateDir: config.stateDir, cluster });
}

type Entries = ReadonlyMap<string, RegisterEntry>;

async function listIn(
  { homes, isolation }: RunnerHomes,
  entries: Entries,
  owner: Owner,
): Promise<readonly KnownHome[]> {
  const records = await homes.list();
  return Promise.all(
    records.map(async (record) => {
      const entry = entries.get(record.id);
      const state = entry === undefined ? record.owner : await owner.stateOf(entry.owner, "state-directory");
      return { record, entry, isolation: entry?.isolation ?? isolation, homes, state };
    }),
  );
}
