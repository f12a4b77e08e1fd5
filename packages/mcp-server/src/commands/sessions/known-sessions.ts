import {
  BudgieError,
  createOwner,
  type Isolation,
  type Owner,
  type RegisteredSession,
  type SessionHomes,
  type SessionRecord,
  type SessionRegister,
} from "@budgie/core";
import { createSessionRegister } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";

/** A session whose home exists. */
export type KnownSession = {
  readonly record: SessionRecord;
  /** The register entry; `undefined` if another state directory has it, or if it could not be written */
  readonly entry: RegisteredSession | undefined;
  readonly isolation: Isolation;
  readonly homes: SessionHomes;
  /** The state of the present owner */
  readonly state: SessionRecord["owner"];
};

export type Sessions = {
  readonly list: () => Promise<readonly KnownSession[]>;
  readonly register: SessionRegister;
  readonly owner: Owner;
};

/** Runs work with all sessions on the engine and in local folders, for a command that is not a server. */
export async function withSessions<T>(
  config: Config,
  host: Host,
  work: (sessions: Sessions) => Promise<T>,
): Promise<T> {
  const { stateDir } = config;
  const owner = createOwner({ stateDir });
  const register = createSessionRegister({ stateDir, report: host.report });
  try {
    const places = await openPlaces(config, host, owner);
    const list = async (): Promise<readonly KnownSession[]> => {
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

type Place = { readonly isolation: Isolation; readonly homes: SessionHomes };

async function openPlaces({ stateDir }: Config, host: Host, owner: Owner): Promise<readonly Place[]> {
  const { createLocalHomes } = await import("@budgie/runner-local");
  const local: Place = { isolation: "none", homes: createLocalHomes({ stateDir, owner }) };
  const { openDockerHomes } = await import("@budgie/runner-docker");
  const { env: hostEnv, home, report } = host;
  try {
    return [{ isolation: "container", homes: await openDockerHomes({ owner, stateDir, home, hostEnv }) }, local];
  } catch (error) {
    if (!(error instanceof BudgieError) || error.code !== "RUNNER_UNAVAILABLE") throw error;
    report(`No container engine is reachable, so only local session folders are looked at. ${error.message}`);
    return [local];
  }
}

type Entries = ReadonlyMap<string, RegisteredSession>;

async function listIn({ homes, isolation }: Place, entries: Entries, owner: Owner): Promise<readonly KnownSession[]> {
  const records = await homes.list();
  return Promise.all(
    records.map(async (record) => {
      const entry = entries.get(record.id);
      const state = entry === undefined ? record.owner : await owner.stateOf(entry.owner, "state-directory");
      return { record, entry, isolation: entry?.isolation ?? isolation, homes, state };
    }),
  );
}
