import { ADDRESS_CLAIMS } from "./network/address-claims.ts";
import { CALLER_CLAIMS } from "./session/caller-claims.ts";
import { CAPABILITY_CLAIMS } from "./kernel/capability-claims.ts";
import { CHANGE_CLAIMS } from "./session/change-claims.ts";
import type { Claim } from "./probe/claim.ts";
import { CONFIGURATION_CLAIMS } from "./session/configuration-claims.ts";
import { DATABASE_CLAIMS } from "./session/database-claims.ts";
import { PROXY_SOCKET_CLAIMS } from "./network/proxy-socket-claims.ts";
import { ENGINE_CLAIMS } from "./kernel/engine-claims.ts";
import { EXCESS_CLAIMS } from "./servers/excess-claims.ts";
import { FILE_SYSTEM_CLAIMS } from "./kernel/file-system-claims.ts";
import { GIT_CLAIMS } from "./session/git-claims.ts";
import { HOME_CLAIMS } from "./session/home-claims.ts";
import { KERNEL_CLAIMS } from "./kernel/kernel-claims.ts";
import { KERNEL_FILE_CLAIMS } from "./kernel/kernel-file-claims.ts";
import { LINK_CLAIMS } from "./session/link-claims.ts";
import { LOGIN_CLAIMS } from "./session/login-claims.ts";
import { MOUNT_CLAIMS } from "./kernel/mount-claims.ts";
import { NETWORK_CLAIMS } from "./network/network-claims.ts";
import { PROCESS_CLAIMS } from "./kernel/process-claims.ts";
import { PROXY_CLAIMS } from "./network/proxy-claims.ts";
import { REBINDING_CLAIMS } from "./network/rebinding-claims.ts";
import { RESOURCE_CLAIMS } from "./kernel/resource-claims.ts";
import { SECCOMP_CLAIMS } from "./kernel/seccomp-claims.ts";
import { SECRET_CLAIMS } from "./session/secret-claims.ts";
import { SERVER_PLACE_CLAIMS } from "./servers/server-place-claims.ts";
import { SERVER_SECRET_CLAIMS } from "./servers/server-secret-claims.ts";
import { SESSION_CLAIMS } from "./session/session-claims.ts";
import { SMUGGLING_CLAIMS } from "./network/smuggling-claims.ts";
import { SWAP_CLAIMS } from "./session/swap-claims.ts";
import { TOOL_CLAIMS } from "./servers/tool-claims.ts";

/** All claims, grouped by subject. Each group is tested by the file of its name, such as `kernel.docker.test.ts`. */
export const CLAIM_GROUPS = {
  kernel: [...CAPABILITY_CLAIMS, ...MOUNT_CLAIMS, ...KERNEL_CLAIMS, ...SECCOMP_CLAIMS, ...KERNEL_FILE_CLAIMS],
  container: [...PROCESS_CLAIMS, ...ENGINE_CLAIMS, ...FILE_SYSTEM_CLAIMS],
  resources: RESOURCE_CLAIMS,
  secrets: [...SECRET_CLAIMS, ...LOGIN_CLAIMS],
  sessions: [...SESSION_CLAIMS, ...DATABASE_CLAIMS],
  "read-only": [...CONFIGURATION_CLAIMS, ...GIT_CLAIMS],
  links: [...LINK_CLAIMS, ...HOME_CLAIMS, ...SWAP_CLAIMS],
  caller: CALLER_CLAIMS,
  changes: CHANGE_CLAIMS,
  network: [...NETWORK_CLAIMS, ...ADDRESS_CLAIMS, ...PROXY_SOCKET_CLAIMS],
  proxy: [...PROXY_CLAIMS, ...REBINDING_CLAIMS, ...SMUGGLING_CLAIMS],
  servers: [...SERVER_SECRET_CLAIMS, ...TOOL_CLAIMS, ...SERVER_PLACE_CLAIMS, ...EXCESS_CLAIMS],
} as const satisfies Readonly<Record<string, readonly Claim[]>>;

/** All promises that budgie makes about a sandbox, with their probes. */
export const CLAIMS: readonly Claim[] = Object.values(CLAIM_GROUPS).flat();
