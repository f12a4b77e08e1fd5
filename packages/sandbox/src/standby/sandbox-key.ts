import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { isWithin, parseMounts } from "@budgie/core/policy";
import type { HeldSource } from "../mounts/held-sources.ts";
import type { HeldMounts } from "../mounts/held-mounts.ts";

/** Everything that a sandbox is made from. */
export type KeyParts = {
  /** The request for it, as JSON shows it, without what differs between requests for the same sandbox */
  readonly body: object;
  readonly held: HeldMounts;
  /** The folder of its covers and mount points, which exists only for it */
  readonly skeleton: string;
};

/** Returns a string that is equal for two sandboxes only if they would be the same, whenever they are created. */
export function sandboxKey({ body, held, skeleton }: KeyParts): string {
  const sources = held.mounts
    .flatMap(({ source }) => source ?? [])
    .filter((source) => !isWithin(source.path, skeleton));
  const facts = [
    body,
    sources.map(({ identity, path }) => [path, identity]),
    readEntries(skeleton, ""),
    readMountsAt(sources),
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

/**
 * Reads the host's mounts above and below the sources: a container keeps the mounts that existed when it was created. On systems without
 * `/proc`, containers run on another kernel.
 */
function readMountsAt(sources: readonly HeldSource[]): unknown {
  if (platform() !== "linux") return [];
  const isConcerned = (point: string): boolean =>
    sources.some(({ path }) => isWithin(path, point) || isWithin(point, path));
  return parseMounts(readFileSync("/proc/self/mountinfo", "utf8")).filter(({ point }) => isConcerned(point));
}
