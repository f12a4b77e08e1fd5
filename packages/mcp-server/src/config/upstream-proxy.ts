import type { Host } from "../process/host.ts";

/** The proxy that this machine itself goes through. */
export function toUpstreamProxy(env: Host["env"]): string | undefined {
  const { ALL_PROXY, all_proxy, HTTPS_PROXY, https_proxy } = env;
  // An empty variable is how one is taken back; the last two are often of another kind, such as socks5.
  return HTTPS_PROXY || https_proxy || [ALL_PROXY, all_proxy].find((url = "") => /^https?:/i.test(url));
}
