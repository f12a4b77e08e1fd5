import type { UsableServer } from "../agents/find-servers.ts";
import type { ServersConfig } from "../agents/servers-config.ts";
import { connectOnHost, type Connect } from "../transport/connect-on-host.ts";
import type { ServerSandboxes } from "./server-sandboxes.ts";
import { createAddressFetch } from "./address-fetch.ts";
import { createUserLogins } from "./user-logins.ts";

type Dependencies = { readonly config: ServersConfig; readonly sandboxes: ServerSandboxes };

/** Returns a function that connects to each of these servers at its place. */
export function connectAt(servers: readonly UsableServer[], { config, sandboxes }: Dependencies): Connect {
  const createFetch = createAddressFetch(servers, config);
  const findLogin = createUserLogins(config, createFetch).find;
  // Not in the current folder, whose packages programs such as npx would run.
  const onHost = connectOnHost({ env: config.env, cwd: config.home, createFetch, findLogin });
  const places = new Map(servers.map(({ place, server }) => [server.name, place]));
  return (server, log) => {
    const place = places.get(server.name);
    if (server.type === "http" || place?.run === "host") return onHost(server, log);
    if (place?.run === "sandbox") return sandboxes.connect(server, { place, log });
    throw new Error(`The MCP server "${server.name}" has no place.`);
  };
}
