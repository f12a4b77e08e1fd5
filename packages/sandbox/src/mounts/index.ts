// The public surface of @budgie/sandbox/mounts: every export is named here, and becomes API.
export type { CopyCover } from "./copy-mounts.ts";
export { findCopyCovers } from "./find-copy-covers.ts";
export { holdMounts, listSessionMounts, type HeldMounts, type Volumes } from "./held-mounts.ts";
export { createHeldSources, descriptorPath, movedError, type HeldSource } from "./held-sources.ts";
export { holdProjection } from "./hold-projection.ts";
export { readOnlyBind, volumeMount, type MountSettings, type Volume, type VolumeMount } from "./mount-settings.ts";
export { ensureMountedFiles, ensureTrustStore, LOCAL_HOSTS, type MountedFiles } from "./mounted-files.ts";
