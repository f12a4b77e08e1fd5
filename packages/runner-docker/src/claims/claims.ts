import { ADDRESS_CLAIMS } from "./address-claims.ts";
import { CALLER_CLAIMS } from "./caller-claims.ts";
import { CAPABILITY_CLAIMS } from "./capability-claims.ts";
import { CHANGE_CLAIMS } from "./change-claims.ts";
import type { Claim } from "./claim.ts";
import { CONFIGURATION_CLAIMS } from "./configuration-claims.ts";
import { DATABASE_CLAIMS } from "./database-claims.ts";
import { DOOR_CLAIMS } from "./door-claims.ts";
import { ENGINE_CLAIMS } from "./engine-claims.ts";
import { FILE_SYSTEM_CLAIMS } from "./file-system-claims.ts";
import { HOME_CLAIMS } from "./home-claims.ts";
import { KERNEL_CLAIMS } from "./kernel-claims.ts";
import { KERNEL_FILE_CLAIMS } from "./kernel-file-claims.ts";
import { LINK_CLAIMS } from "./link-claims.ts";
import { LOGIN_CLAIMS } from "./login-claims.ts";
import { MOUNT_CLAIMS } from "./mount-claims.ts";
import { NETWORK_CLAIMS } from "./network-claims.ts";
import { PROCESS_CLAIMS } from "./process-claims.ts";
import { PROXY_CLAIMS } from "./proxy-claims.ts";
import { REBINDING_CLAIMS } from "./rebinding-claims.ts";
import { RESOURCE_CLAIMS } from "./resource-claims.ts";
import { SECCOMP_CLAIMS } from "./seccomp-claims.ts";
import { SECRET_CLAIMS } from "./secret-claims.ts";
import { SESSION_CLAIMS } from "./session-claims.ts";
import { SMUGGLING_CLAIMS } from "./smuggling-claims.ts";
import { SWAP_CLAIMS } from "./swap-claims.ts";

/** All claims by what they are about; each group has a file of its name in `test/escape`. */
export const CLAIM_GROUPS = {
  kernel: [...CAPABILITY_CLAIMS, ...MOUNT_CLAIMS, ...KERNEL_CLAIMS, ...SECCOMP_CLAIMS, ...KERNEL_FILE_CLAIMS],
  container: [...PROCESS_CLAIMS, ...ENGINE_CLAIMS, ...FILE_SYSTEM_CLAIMS],
  resources: RESOURCE_CLAIMS,
  secrets: [...SECRET_CLAIMS, ...LOGIN_CLAIMS],
  sessions: [...SESSION_CLAIMS, ...DATABASE_CLAIMS],
  "read-only": CONFIGURATION_CLAIMS,
  links: [...LINK_CLAIMS, ...HOME_CLAIMS, ...SWAP_CLAIMS],
  caller: CALLER_CLAIMS,
  changes: CHANGE_CLAIMS,
  network: [...NETWORK_CLAIMS, ...ADDRESS_CLAIMS, ...DOOR_CLAIMS],
  proxy: [...PROXY_CLAIMS, ...REBINDING_CLAIMS, ...SMUGGLING_CLAIMS],
} as const satisfies Readonly<Record<string, readonly Claim[]>>;

/** Everything budgie promises of a sandbox, with its probes. */
export const CLAIMS: readonly Claim[] = Object.values(CLAIM_GROUPS).flat();
