import { createEgressFetch } from "@budgie/egress";
import { isHere, type CreateFetch } from "@budgie/mcp-manager";
import { findUpstreamProxy } from "../config/check-sandbox-options.ts";
import type { Host } from "../process/host.ts";
import type { UsableServer } from "./find-servers.ts";

/**
 * Returns a function that creates the `fetch` for an HTTP server, under the egress rules of sandboxes. It reaches the server's URL,
 * the hosts in its section, and the authorization server of a login.
 */
export function createAddressFetch(servers: readonly UsableServer[], { env }: Pick<Host, "env">): CreateFetch {
  const url = findUpstreamProxy(env);
  const noProxy = env["NO_PROXY"] ?? env["no_proxy"];
  const upstream = url === undefined ? undefined : { url, ...(noProxy === undefined ? {} : { noProxy }) };
  return (server, others) => {
    const hosts = servers.flatMap((usable) =>
      usable.server.name === server.name && usable.place.run === "address" ? usable.place.hosts : [],
    );
    // A login's authorization server is not known in advance. It may be any public host: the user is at the browser.
    const isLogin = others === "any";
    return createEgressFetch({
      policy: { mode: isLogin ? "open" : "allowlist", hosts },
      urls: isLogin ? [server.url] : [server.url, ...others],
      loopback: isLogin && isHere(server.url),
      upstream,
    });
  };
}
