import type { MountSettings as EngineMount } from "dockerode";
import type { MountSettings } from "@budgie/sandbox/mounts";
import { MADE_FOR_MOUNT } from "../engine/to-labels.ts";

/** An empty folder in memory. */
type MemoryMount = {
  readonly type: "memory";
  readonly target: string;
  readonly bytes: number;
};

/** A mount of a container. */
export type ContainerMount = MountSettings | MemoryMount;

/** Converts a mount to the engine's form. */
export function toMount(mount: ContainerMount): EngineMount {
  switch (mount.type) {
    case "bind":
      return { ...toCommon(mount), ...(mount.isNonRecursive === true ? { BindOptions: NON_RECURSIVE } : {}) };
    case "volume": {
      // The labels are for a volume that somebody removed and Docker creates again, empty: garbage collection finds it by its labels, and the
      // next turn does not take it for the session's.
      const Labels = { ...mount.labels, ...MADE_FOR_MOUNT };
      const DriverConfig = { Name: "local", Options: {} };
      return { ...toCommon(mount), VolumeOptions: { NoCopy: mount.noCopy, Labels, DriverConfig } };
    }
    case "memory":
      return {
        Type: "tmpfs",
        Source: "",
        Target: mount.target,
        TmpfsOptions: { SizeBytes: mount.bytes, Mode: 0o1777 },
      };
  }
}

// The types of dockerode lack it.
const NON_RECURSIVE = { Propagation: "rprivate", NonRecursive: true } as EngineMount["BindOptions"] & object;

function toCommon({ isReadOnly, source, target, type }: MountSettings) {
  return { Type: type, Source: source, Target: target, ...(isReadOnly ? { ReadOnly: true } : {}) };
}
