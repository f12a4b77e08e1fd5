import type Docker from "dockerode";
import { isSessionId, findReasonToKeep, type GcItem, type GcPolicy } from "@budgie/core";
import { timeLimit } from "../engine/with-timeout.ts";
import { removeVolume } from "../session/remove-volume.ts";

/** A volume that the original program, in Go, left on an engine. It may hold a whole login. */
export type LegacyVolume = {
  readonly item: GcItem;
  /** Returns the reason to keep it; `undefined` if it may be removed */
  readonly reasonToKeep: (policy: GcPolicy) => string | undefined;
  /** Removes it; resolves to the reason if it has to stay */
  readonly remove: () => Promise<string | undefined>;
};

// The name that the original gave a session's only volume.
const NAME = /^budgie-session-(.*)$/;

/**
 * Finds the volumes of the original, which no container uses. It gave them a name and nothing else, so a volume with labels,
 * options or a driver is never one of them.
 */
export async function findLegacyVolumes(docker: Docker): Promise<readonly LegacyVolume[]> {
  const filters = { dangling: ["true"], name: ["budgie-session-"] };
  const volumes: readonly Volume[] = (await docker.listVolumes({ filters, ...timeLimit() })).Volumes;
  return volumes.filter(isLegacy).map(({ CreatedAt = "", Name }) => ({
    item: { kind: "volume", name: Name, session: undefined },
    reasonToKeep: (policy) => findReasonToKeep({ owner: "dead", usedMs: Date.parse(CreatedAt) || Date.now() }, policy),
    remove: () => removeVolume(docker.getVolume(Name)),
  }));
}

type Volume = Docker.VolumeInspectInfo & { readonly CreatedAt?: string };

function isLegacy({ Driver, Labels, Name, Options }: Volume): boolean {
  const isPlain = [Labels, Options].every((facts) => Object.keys(facts ?? {}).length === 0);
  return isPlain && Driver === "local" && isSessionId(NAME.exec(Name)?.[1] ?? "");
}
