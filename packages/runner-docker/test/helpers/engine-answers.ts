import type { EngineInfo } from "../../src/engine/engine-protection.ts";

const LIMITS = { MemoryLimit: true, SwapLimit: true, PidsLimit: true, CpuCfsQuota: true };
const CGROUPS = { CgroupVersion: "1", CgroupDriver: "cgroupfs" };
const PODMAN = { ...LIMITS, ...CGROUPS, SecurityOptions: ["name=seccomp,profile=default"], Warnings: [] };

/** Real answers of engines to `GET /info` on a machine with cgroup v1, reduced to the fields that budgie reads. */
export const ENGINE_ANSWERS = {
  "Docker 20.10.24": { ...PODMAN, Warnings: null },
  "Docker 26.1.5": { ...PODMAN, SecurityOptions: ["name=seccomp,profile=builtin"], Warnings: null },
  "Podman 4.3.1": { ...PODMAN, Rootless: false },
  "Podman 4.3.1, rootless": { ...PODMAN, Rootless: true },
  "Podman 5.4.2": { ...PODMAN, Rootless: false },
} as const satisfies Readonly<Record<string, EngineInfo>>;
