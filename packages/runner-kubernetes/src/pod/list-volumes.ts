import { basename } from "node:path/posix";
import { POD } from "../requests/pod-paths.ts";
import { SANDBOX } from "@budgie/sandbox/profile";
import type { PodLimits, PodShape } from "./pod-shape.ts";

const MIB = 1024 * 1024;
const PROGRAMS_BYTES = 8 * MIB;
/** The size of what a login has in `/auth`. */
const AUTH_BYTES = 16 * MIB;

/** The agent's own folders, in volumes of the sidecar. */
export const AGENT_FOLDERS = [SANDBOX.home, `${POD.work}/tree`, `${POD.scratch}/tmp`] as const;

/**
 * Lists the volumes of a Pod. Kubelet starts a program or two for each that is in memory, and for each folder of a volume that a container mounts, so what need not belong
 * to the agent's user is a volume of its own.
 */
export function listVolumes({ copyBytes, homeBytes, tmpBytes }: PodLimits) {
  return [
    { name: "programs", emptyDir: { medium: "Memory", sizeLimit: String(PROGRAMS_BYTES) } },
    { name: "home", emptyDir: { sizeLimit: String(addReserve(homeBytes)) } },
    { name: "work", emptyDir: { sizeLimit: String(addReserve(copyBytes)) } },
    { name: "scratch", emptyDir: { medium: "Memory", sizeLimit: String(tmpBytes) } },
    { name: "auth", emptyDir: { medium: "Memory", sizeLimit: String(AUTH_BYTES) } },
    // The containers' limits count it too.
    { name: "shown", emptyDir: { sizeLimit: String(addReserve(homeBytes)) } },
  ];
}

/** Lists the mounts of the sidecar, which has all volumes whole. */
export function listSidecarMounts() {
  return [
    { name: "programs", mountPath: POD.programs },
    { name: "home", mountPath: POD.home },
    { name: "work", mountPath: POD.work },
    { name: "scratch", mountPath: POD.scratch },
    { name: "auth", mountPath: SANDBOX.auth },
    { name: "shown", mountPath: POD.shown },
  ];
}

/** Lists the mounts of the agent. */
export function listAgentMounts({ shownPath, workspace }: Pick<PodShape, "shownPath" | "workspace">) {
  return [
    { name: "programs", mountPath: POD.programs, readOnly: true },
    { name: "home", mountPath: SANDBOX.home, subPath: basename(SANDBOX.home) },
    { name: "work", mountPath: workspace, subPath: "tree" },
    { name: "scratch", mountPath: "/tmp", subPath: "tmp" },
    { name: "auth", mountPath: SANDBOX.auth, readOnly: true },
    ...(shownPath === undefined ? [] : [{ name: "shown", mountPath: shownPath, readOnly: true }]),
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
