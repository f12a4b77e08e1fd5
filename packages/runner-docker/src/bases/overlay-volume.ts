import type Docker from "dockerode";
import type { SessionId } from "@budgie/core";
import type { Volume } from "@budgie/sandbox/mounts";
import { isPlainVolume } from "../engine/find-own.ts";
import { parseLabels } from "../engine/to-labels.ts";
import { createVolume } from "./create-volume.ts";

/** A volume that shows a base, and keeps what is written in other volumes. */
export type OverlayVolume = {
  readonly volume: Volume;
  /** The folder of the base on the engine */
  readonly base: string;
};

/** The folders of a copy over a base on the engine. */
export type OverBase = {
  readonly base: string;
  /** The folder of what is written over it */
  readonly upper: string;
};

/** Returns the names of the volumes in which a copy over a base keeps what is written. */
export function listLayers(copy: string): readonly [upper: string, work: string] {
  return [`${copy}-upper`, `${copy}-work`];
}

/**
 * Creates the volume of a copy over a base, and resolves to its folders. Nothing mounts it yet, so that the engine may
 * refuse it later.
 */
export async function createOverlay(docker: Docker, { base, volume }: OverlayVolume): Promise<OverBase> {
  const layers = listLayers(volume.name).map((Name) => createVolume(docker, { Name, Labels: { ...volume.labels } }));
  const [upper, work] = (await Promise.all(layers)).map(readFolder);
  if (upper === undefined || work === undefined) throw new TypeError("The engine's volumes have no folders.");
  const options = { type: "overlay", device: "overlay", o: toOptions({ base, upper, work }) };
  await createVolume(docker, { Name: volume.name, Driver: "local", DriverOpts: options, Labels: { ...volume.labels } });
  return { base, upper };
}

/** Returns the folder of a volume, which only the engine may have named; `undefined` for one that an option of a mount cannot hold. */
export function readFolder({
  Driver,
  Mountpoint,
  Options,
}: Pick<Docker.VolumeInspectInfo, "Driver" | "Mountpoint" | "Options">): string | undefined {
  const isSafe = isPlainVolume({ Driver, Options }) && /^\/[\w./-]{1,1000}$/.test(Mountpoint);
  return isSafe ? Mountpoint : undefined;
}

/** Returns true if a volume is one that budgie makes for the copy of this session: a folder of the engine's own, or an overlay. */
export function isCopyOf(session: SessionId, found: Docker.VolumeInspectInfo): boolean {
  const { role, session: of } = parseLabels(found.Labels);
  return role === "copy" && of === session && (isPlainVolume(found) || isOverlay(found));
}

/** Returns true if a volume is an overlay, on whatever base. */
export function isOverlay({ Driver, Options }: Pick<Docker.VolumeInspectInfo, "Driver" | "Options">): boolean {
  return Driver === "local" && Options?.["type"] === "overlay" && Options["device"] === "overlay";
}

/** Returns true if a volume is an overlay on this base. */
export function isOverlayOn(base: string, found: Pick<Docker.VolumeInspectInfo, "Driver" | "Options">): boolean {
  return isOverlay(found) && String(found.Options?.["o"]).startsWith(`lowerdir=${base},upperdir=`);
}

type Layers = { readonly base: string; readonly upper: string; readonly work: string };

/** Returns the options of the mount. Without `redirect_dir`, a folder of the base could not be renamed. */
function toOptions({ base, upper, work }: Layers): string {
  return `lowerdir=${base},upperdir=${upper},workdir=${work},redirect_dir=on,metacopy=off,index=off`;
}
