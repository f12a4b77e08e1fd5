import { CAPABILITY_CLAIMS } from "./capability-claims.ts";
import type { Claim } from "./claim.ts";
import { FILE_SYSTEM_CLAIMS } from "./file-system-claims.ts";
import { PROCESS_CLAIMS } from "./process-claims.ts";

/** All claims by what they are about; each group has a file of its name in `test/escape`. */
export const CLAIM_GROUPS = {
  kernel: [...CAPABILITY_CLAIMS, ...PROCESS_CLAIMS, ...FILE_SYSTEM_CLAIMS],
} as const satisfies Readonly<Record<string, readonly Claim[]>>;

/** Everything budgie promises of a sandbox, with its probes. */
export const CLAIMS: readonly Claim[] = Object.values(CLAIM_GROUPS).flat();
