import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { ContainerCreateOptions } from "dockerode";
import { isWithin, parseMounts } from "@budgie/core";
import type { HeldSource } from "../sandbox/mount-sources.ts";
import type { HeldMounts } from "../sandbox/mounts.ts";

/** Everything that a turn's container is made from. */
export type TurnPlan = {
  readonly body: ContainerCreateOptions;
  readonly held: HeldMounts;
  /** The folder of the turn's covers and mount points, which exists only for this turn */
  readonly skeleton: string;
  /** The run of the session's container whose network it joins */
  readonly networkRun: string | undefined;
};

/** Returns a string that is equal for two plans only if their containers would be the same, whenever they are created. */
export function toTurnFacts({ body, held, networkRun, skeleton }: TurnPlan): string {
  const { "dev.budgie.created": _, ...Labels } = body.Labels ?? {};
  const sources = held.mounts
    .flatMap(({ source }) => source ?? [])
    .filter((source) => !isWithin(source.path, skeleton));
  const facts = [
    { ...body, Labels },
    sources.map(({ identity, path }) => [path, identity]),
    readEntries(skeleton, ""),
    readMountsAt(sources),
    networkRun,
  ];
  return JSON.stringify(facts).replaceAll(JSON.stringify(skeleton).slice(1, -1), "");
}

/** Reads the covers, which are few and small. */
function readEntries(folder: string, name: string): unknown {
  const path = join(folder, name);
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts?.isDirectory() === true)
    return [
      name,
      readdirSync(path)
        .toSorted()
        .map((entry) => readEntries(path, entry)),
    ];
  if (facts?.isSymbolicLink() === true) return [name, "link", readlinkSync(path)];
  return facts && [name, "file", readFileSync(path, "latin1")];
}

/** Reads the host's mounts above and below the sources: a container keeps the mounts that existed when it was created. */
function readMountsAt(sources: readonly HeldSource[]): unknown {
  const isConcerned = (point: string): boolean =>
    sources.some(({ path }) => isWithin(path, point) || isWithin(point, path));
  return parseMounts(readFileSync("/proc/self/mountinfo", "utf8")).filter(({ point }) => isConcerned(point));
}
