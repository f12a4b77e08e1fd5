import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  createOwner,
  createSessionId,
  type GcPolicy,
  type GcReport,
  type OwnerRecord,
  type SessionId,
} from "@budgie/core";
import { toLabels, type Role } from "../../src/engine/labels.ts";
import { BASE_IMAGE, createDockerPlace, testEngine, type DockerPlace } from "../helpers/docker-place.ts";

/** The policy of a running budgie's regular collection. */
export const SWEEP: GcPolicy = { olderThanMs: 0, dryRun: false };
export const HOUR_MS = 3_600_000;
type GarbagePlace = {
  readonly place: DockerPlace;
  /** An owner of this machine with this process's pid and a missing lock */
  readonly makeOwner: (changes?: Partial<OwnerRecord>, process?: object) => OwnerRecord;
  readonly collect: (policy?: GcPolicy) => Promise<GcReport>;
};

/** Creates a place whose runners collect the garbage of invented owners. */
export function createGarbagePlace(): GarbagePlace {
  const place = createDockerPlace();
  return {
    place,
    makeOwner(changes = {}, process = {}) {
      const instance = randomUUID();
      const { host, process: own } = createOwner({ stateDir: place.stateDir }).record;
      if (own === undefined) throw new Error("The test needs a /proc.");
      const lock = join(place.stateDir, "owners", instance);
      return { instance, host, lock, process: { ...own, ...process }, ...changes };
    },
    async collect(policy = SWEEP) {
      const { runner } = await place.createRunner();
      return runner.collectGarbage(policy);
    },
  };
}

/** A session with a remaining volume. */
export type Left = { readonly session: SessionId; readonly volume: string };

/** Creates a session's volume, with labels of an owner and a time some hours ago. */
export async function leaveHome(owner: OwnerRecord, { hours = 0, isAhead = false, keepMs = 0 } = {}): Promise<Left> {
  const session = createSessionId();
  const volume = `budgie-session-${session}`;
  await leaveVolume(volume, owner, { hours, role: "home", session, keepMs, isAhead });
  return { session, volume };
}

/** Creates a volume of a session, which is removed after the test at the latest. */
export async function leaveVolume(name: string, owner: OwnerRecord, thing: Thing): Promise<void> {
  const docker = await testEngine();
  await docker.createVolume({ Name: name, Labels: labels(owner, thing) });
  onTestFinished(async () => {
    await docker
      .getVolume(name)
      .remove()
      .catch(() => undefined);
  });
}

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

/** Creates a running container that mounts a session's volume. */
export async function leaveContainer(owner: OwnerRecord, role: Role, { session, volume }: Left): Promise<string> {
  const docker = await testEngine();
  const container = await docker.createContainer({
    Image: BASE_IMAGE,
    Cmd: ["sleep", "300"],
    Labels: labels(owner, { hours: 1000, role, session }),
    HostConfig: { NetworkMode: "none", Mounts: [{ Type: "volume", Source: volume, Target: "/home" }] },
  });
  onTestFinished(() => container.remove({ force: true }).catch(() => undefined));
  await container.start();
  return container.id;
}

/** Returns the part of a report about one session. */
export function outcomesOf({ session }: Left, report: GcReport): readonly string[] {
  const outcomes = (["removed", "kept", "failed"] as const).flatMap((outcome) =>
    report[outcome].filter((item) => item.session === session).map(({ kind }) => `${outcome} ${kind}`),
  );
  return outcomes.toSorted();
}

/** Tells whether a session's volume is still on the engine. */
export async function isThere({ volume }: Left): Promise<boolean> {
  const { Volumes } = await (await testEngine()).listVolumes();
  return Volumes.some(({ Name }) => Name === volume);
}
