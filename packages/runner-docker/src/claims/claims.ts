import { CAPABILITY_CLAIMS } from "./capability-claims.ts";
import type { Claim } from "./claim.ts";
import { ENGINE_CLAIMS } from "./engine-claims.ts";
import { FILE_SYSTEM_CLAIMS } from "./file-system-claims.ts";
import { KERNEL_CLAIMS } from "./kernel-claims.ts";
import { KERNEL_FILE_CLAIMS } from "./kernel-file-claims.ts";
import { MOUNT_CLAIMS } from "./mount-claims.ts";
import { PROCESS_CLAIMS } from "./process-claims.ts";
import { RESOURCE_CLAIMS } from "./resource-claims.ts";

/** All claims by what they are about; each group has a file of its name in `test/escape`. */
export const CLAIM_GROUPS = {
  kernel: [...CAPABILITY_CLAIMS, ...MOUNT_CLAIMS, ...KERNEL_CLAIMS, ...KERNEL_FILE_CLAIMS],
  container: [...PROCESS_CLAIMS, ...ENGINE_CLAIMS, ...FILE_SYSTEM_CLAIMS],
  resources: RESOURCE_CLAIMS,
} as const satisfies Readonly<Record<string, readonly Claim[]>>;

/** Everything budgie promises of a sandbox, with its probes. */
export const CLAIMS: readonly Claim[] = Object.values(CLAIM_GROUPS).flat();
