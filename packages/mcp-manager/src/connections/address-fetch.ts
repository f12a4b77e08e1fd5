import { createEgressFetch } from "@budgie/egress";
import type { UsableServer } from "../agents/find-servers.ts";
import type { ServersConfig } from "../agents/servers-config.ts";
import { isHere } from "../config/is-safe-url.ts";
import type { CreateFetch } from "../transport/connect-on-host.ts";

/**
 * Returns a function that creates the `fetch` for an HTTP server, under the egress rules of sandboxes. It reaches the server's URL,
 * the hosts in its section, and the authorization server of a login.
 */
export function createAddressFetch(
  servers: readonly UsableServer[],
  { upstream }: Pick<ServersConfig, "upstream">,
): CreateFetch {
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
