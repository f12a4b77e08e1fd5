import { basename } from "node:path/posix";
import { POD } from "../requests/pod-paths.ts";
import { SANDBOX } from "@budgie/sandbox/profile";
import type { PodLimits, PodShape } from "./pod-shape.ts";

const MIB = 1024 * 1024;
const PROGRAMS_BYTES = 8 * MIB;
/** The size of `/dev/shm`, as an engine gives it. */
const SHM_BYTES = 64 * MIB;
/** The size of what a login has in `/auth`. */
const AUTH_BYTES = 16 * MIB;

/** Folders of the sidecar's volumes that the agent's container mounts. */
export const AGENT_FOLDERS = [
  ...[basename(SANDBOX.home), "shown"].map((name) => `${POD.home}/${name}`),
  `${POD.work}/tree`,
  ...["tmp", "shm", "auth"].map((name) => `${POD.scratch}/${name}`),
] as const;

/** Lists the volumes of a Pod. */
export function listVolumes({ copyBytes, homeBytes, tmpBytes }: PodLimits) {
  return [
    { name: "programs", emptyDir: { medium: "Memory", sizeLimit: String(PROGRAMS_BYTES) } },
    { name: "home", emptyDir: { sizeLimit: String(addReserve(homeBytes)) } },
    { name: "work", emptyDir: { sizeLimit: String(addReserve(copyBytes)) } },
    { name: "scratch", emptyDir: { medium: "Memory", sizeLimit: String(tmpBytes + SHM_BYTES + AUTH_BYTES) } },
  ];
}

/** Lists the mounts of the sidecar, which has all volumes whole. */
export function listSidecarMounts() {
  return [
    { name: "programs", mountPath: POD.programs },
    { name: "home", mountPath: POD.home },
    { name: "work", mountPath: POD.work },
    { name: "scratch", mountPath: POD.scratch },
  ];
}

/** Lists the mounts of the agent. */
export function listAgentMounts({ shownPath, workspace }: Pick<PodShape, "shownPath" | "workspace">) {
  return [
    { name: "programs", mountPath: POD.programs, readOnly: true },
    { name: "home", mountPath: SANDBOX.home, subPath: basename(SANDBOX.home) },
    { name: "work", mountPath: workspace, subPath: "tree" },
    { name: "scratch", mountPath: "/tmp", subPath: "tmp" },
    { name: "scratch", mountPath: "/dev/shm", subPath: "shm" },
    { name: "scratch", mountPath: SANDBOX.auth, subPath: "auth", readOnly: true },
    ...(shownPath === undefined ? [] : [{ name: "home", mountPath: shownPath, subPath: "shown", readOnly: true }]),
  ];
}

/** Returns the most that the volumes on disk take. */
export function countDiskBytes({ copyBytes, homeBytes }: PodLimits): number {
  return addReserve(homeBytes) + addReserve(copyBytes);
}

/** Adds what a home may grow until the sidecar sees it. Kubelet would remove the whole Pod, and with it the session. */
function addReserve(bytes: number): number {
  return Math.ceil(bytes * 1.5);
}
