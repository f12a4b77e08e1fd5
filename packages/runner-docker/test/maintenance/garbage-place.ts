import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type Docker from "dockerode";
import { onTestFinished } from "vitest";
import { createOwner, createSessionId, type GcPolicy, type GcReport, type SessionId } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import { toLabels, type Role } from "../../src/engine/to-labels.ts";
import { connectEngine } from "../../src/engine/engine.ts";
import { BASE_IMAGE, createDockerPlace, type DockerPlace } from "../helpers/docker-place.ts";
import { createEngineWithOwnLabels } from "../helpers/own-labels.ts";

/** The policy of a running budgie's regular collection. */
export const SWEEP: GcPolicy = { olderThanMs: 0, dryRun: false };
export const HOUR_MS = 3_600_000;
type GarbagePlace = AsyncDisposable & {
  readonly place: DockerPlace;
  /** The engine, as the runners of the place see it */
  readonly docker: () => Promise<Docker>;
  /** An owner of this machine with this process's pid and a missing lock */
  readonly makeOwner: (changes?: Partial<OwnerRecord>, process?: object) => OwnerRecord;
  readonly collect: (policy?: GcPolicy) => Promise<GcReport>;
  /** Creates a session's volume, with labels of an owner and a time some hours ago */
  readonly leaveHome: (owner: OwnerRecord, thing?: Partial<Thing>) => Promise<Left>;
  /** Creates a volume of a session, which is removed after the test at the latest */
  readonly leaveVolume: (name: string, owner: OwnerRecord, thing: Thing) => Promise<void>;
  /** Creates a running container that mounts a session's volume */
  readonly leaveContainer: (owner: OwnerRecord, role: Role, left: Left) => Promise<string>;
  /** Tells whether a session's volume is still on the engine */
  readonly isThere: (left: Left) => Promise<boolean>;
};

/** Creates a place whose runners collect the garbage of invented owners, which no other budgie on the engine sees. */
export function createGarbagePlace(): GarbagePlace {
  const place = createDockerPlace();
  const opening = createEngineWithOwnLabels();
  const connecting = opening.then(({ hostEnv }) => connectEngine(hostEnv, place.root));
  const docker = async (): Promise<Docker> => (await connecting).docker;

  async function leaveVolume(name: string, owner: OwnerRecord, thing: Thing): Promise<void> {
    const volumes = await docker();
    await volumes.createVolume({ Name: name, Labels: labels(owner, thing) });
    onTestFinished(async () => {
      await volumes
        .getVolume(name)
        .remove()
        .catch(() => undefined);
    });
  }

  return {
    place,
    docker,
    leaveVolume,
    makeOwner(changes = {}, process = {}) {
      const instance = randomUUID();
      const { host, process: own } = createOwner({ stateDir: place.stateDir }).record;
      if (own === undefined) throw new Error("The test needs a /proc.");
      const lock = join(place.stateDir, "owners", instance);
      return { instance, host, lock, process: { ...own, ...process }, ...changes };
    },
    async collect(policy = SWEEP) {
      const { runner } = await place.createRunner({ hostEnv: (await opening).hostEnv });
      return runner.collectGarbage(policy);
    },
    async leaveHome(owner, thing = {}) {
      const session = createSessionId();
      const volume = `budgie-session-${session}`;
      await leaveVolume(volume, owner, { hours: 0, role: "home", session, ...thing });
      return { session, volume };
    },
    async leaveContainer(owner, role, { session, volume }) {
      const container = await (
        await docker()
      ).createContainer({
        Image: BASE_IMAGE,
        Cmd: ["sleep", "300"],
        Labels: labels(owner, { hours: 1000, role, session }),
        HostConfig: { NetworkMode: "none", Mounts: [{ Type: "volume", Source: volume, Target: "/home" }] },
      });
      onTestFinished(() => container.remove({ force: true }).catch(() => undefined));
      await container.start();
      return container.id;
    },
    async isThere({ volume }) {
      const { Volumes } = await (await docker()).listVolumes();
      return Volumes.some(({ Name }) => Name === volume);
    },
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await (await opening)[Symbol.asyncDispose]();
    },
  };
}

/** A session with a remaining volume. */
export type Left = { readonly session: SessionId; readonly volume: string };

type Thing = {
  readonly hours: number;
  readonly role: Role;
  readonly session: SessionId;
  readonly keepMs?: number;
  readonly isAhead?: boolean;
};

function labels(
  owner: OwnerRecord,
  { hours, isAhead = false, keepMs = 0, role, session }: Thing,
): Record<string, string> {
  const created = new Date(Date.now() - hours * HOUR_MS).toISOString();
  const keep = keepMs === 0 ? {} : { "dev.budgie.keep-ms": String(keepMs) };
  const ahead = isAhead ? { "dev.budgie.ahead": "1" } : {};
  return { ...toLabels(owner, session, role), "dev.budgie.created": created, ...keep, ...ahead };
}

/** Returns the part of a report about one session. */
export function outcomesOf({ session }: Left, report: GcReport): readonly string[] {
  const outcomes = (["removed", "kept", "failed"] as const).flatMap((outcome) =>
    report[outcome].filter((item) => item.session === session).map(({ kind }) => `${outcome} ${kind}`),
  );
  return outcomes.toSorted();
}
