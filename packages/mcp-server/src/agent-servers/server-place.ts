import { BudgieError, type AllowedHost, type EgressPolicy } from "@budgie/core";
import type { McpServer } from "@budgie/mcp-manager";
import type { McpSection } from "../config/config-file-schema.ts";
import { toHosts } from "../config/egress-list.ts";

/** The place where a server is: a container of its own, a process of this machine, or an address. */
export type ServerPlace = SandboxPlace | AddressPlace | { readonly run: "host" };

type AddressPlace = {
  readonly run: "address";
  /** The hosts that its requests may reach besides its own */
  readonly hosts: readonly AllowedHost[];
};

export type SandboxPlace = {
  readonly run: "sandbox";
  /** `undefined` for that of all sandboxes */
  readonly image: string | undefined;
  readonly egress: EgressPolicy;
};

/** Returns the place of a server. Throws `CONFIG_INVALID` for a section that asks for what nothing would enforce, or for a wrong host. */
export function toServerPlace({ name, type }: McpServer, section: McpSection): ServerPlace {
  if (section.run === "host") return type === "http" ? { run: "address", hosts: [] } : { run: "host" };
  const { allowHost, allowPreset, egress, image } = section;
  const source = `the MCP server "${name}"`;
  const hosts = toHosts(
    { allowHost: allowHost ?? [], allowPreset: allowPreset ?? [] },
    { allowHost: source, allowPreset: source },
  );
  if (type === "http") {
    const [key] = Object.entries({ egress, image }).find(([, value]) => value !== undefined) ?? [];
    if (key !== undefined) throw toAddressError(name, key);
    return { run: "address", hosts };
  }
  // Without a host, it needs no proxy.
  const mode = egress ?? (hosts.length === 0 ? "none" : "allowlist");
  return { run: "sandbox", image, egress: { mode, hosts } };
}

function toAddressError(name: string, key: string): BudgieError {
  const message = `The MCP server "${name}" is an address, which needs no container: take "${key}" out of its section.`;
  return new BudgieError("CONFIG_INVALID", message);
}
