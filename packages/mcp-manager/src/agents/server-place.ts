import { BudgieError, formatTarget, type AllowedHost, type EgressPolicy, type McpServerReport } from "@budgie/core";
import { listHosts } from "@budgie/egress/allow-list";
import type { McpServer } from "../config/mcp-server.ts";
import type { McpSection } from "./servers-config.ts";

/** The place of a server: a container of its own, a process on this machine, or a URL. */
export type ServerPlace = SandboxPlace | AddressPlace | { readonly run: "host" };

type AddressPlace = {
  readonly run: "address";
  /** The hosts that its requests may reach besides its own */
  readonly hosts: readonly AllowedHost[];
};

export type SandboxPlace = {
  readonly run: "sandbox";
  /** `undefined` for the image of all sandboxes */
  readonly image: string | undefined;
  readonly egress: EgressPolicy;
};

/** Returns the place of a server. Throws `CONFIG_INVALID` for a section with a key that nothing would enforce, or with an invalid host. */
export function findServerPlace({ name, type }: McpServer, section: McpSection): ServerPlace {
  if (section.run === "host") return type === "http" ? { run: "address", hosts: [] } : { run: "host" };
  const { allowHost, allowPreset, egress, image } = section;
  const source = `the MCP server "${name}"`;
  const hosts = listHosts(
    { allowHost: allowHost ?? [], allowPreset: allowPreset ?? [] },
    { allowHost: source, allowPreset: source },
  );
  if (type === "http") {
    const [key] = Object.entries({ egress, image }).find(([, value]) => value !== undefined) ?? [];
    if (key !== undefined) throw addressError(name, key);
    return { run: "address", hosts };
  }
  // A server without allowed hosts needs no proxy.
  const mode = egress ?? (hosts.length === 0 ? "none" : "allowlist");
  return { run: "sandbox", image, egress: { mode, hosts } };
}

/** Returns the network of a server at its place. */
export function findServerEgress(server: McpServer, place: ServerPlace): McpServerReport["egress"] {
  if (place.run === "host") return { mode: "host", hosts: [] };
  if (place.run === "sandbox") return { mode: place.egress.mode, hosts: place.egress.hosts.map(formatTarget) };
  const own = server.type === "http" ? [formatAddress(new URL(server.url))] : [];
  return { mode: "allowlist", hosts: [...own, ...place.hosts.map(formatTarget)] };
}

function formatAddress({ hostname: host, port, protocol }: URL): string {
  const usual = protocol === "https:" ? 443 : 80;
  return formatTarget({ host, port: port === "" ? usual : Number(port) });
}

function addressError(name: string, key: string): BudgieError {
  const message = `The MCP server "${name}" is an address, which needs no container: take "${key}" out of its section.`;
  return new BudgieError("CONFIG_INVALID", message);
}
