// The public surface of @budgie/sandbox/mounts: every export is named here, and becomes API.
export {
  holdMounts,
  listSessionMounts,
  readOnlyBind,
  volumeMount,
  type HeldMounts,
  type Volume,
  type Volumes,
} from "./held-mounts.ts";
export { descriptorPath, movedError } from "./held-sources.ts";
export type { MountSettings, VolumeMount } from "./mount-settings.ts";
export { ensureMountedFiles, ensureTrustStore, LOCAL_HOSTS, type MountedFiles } from "./mounted-files.ts";
