import type { HeldSource } from "./held-sources.ts";

/** A mount of a sandbox, whichever engine makes it. */
export type MountSettings = BindMount | VolumeMount;

/** A file or folder of the host. */
export type BindMount = {
  readonly type: "bind";
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
  /** True if the mounts below the source are left out */
  readonly isNonRecursive?: boolean;
};

/** A volume of the engine. */
export type VolumeMount = {
  readonly type: "volume";
  /** The volume's name */
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
  /** The labels of a volume that the engine creates if there is none of this name */
  readonly labels: Readonly<Record<string, string>>;
  /** True if an empty volume gets none of the image's files */
  readonly noCopy: boolean;
};

/** One mount of a turn's container. */
export type SandboxMount = {
  readonly settings: MountSettings;
  /** The source of a bind mount; missing if it does not exist, and then the engine refuses the mount */
  readonly source?: HeldSource | undefined;
};

/** A volume, as it is created. */
export type Volume = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
};

/** Returns the mount of a volume, which gets none of the image's files. With `noCopy` false, an empty one gets them with their owner. */
export function volumeMount({ labels, name }: Volume, target: string, noCopy = true): VolumeMount {
  return { type: "volume", source: name, target, isReadOnly: false, labels, noCopy };
}

/** Returns the read-only mount of a file or folder of the host. */
export function readOnlyBind(source: string, target: string): BindMount {
  return { type: "bind", source, target, isReadOnly: true };
}
