import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

// Ranges that are in no one's network, and that tests may therefore give to servers of their own.
const DOCUMENTATION = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"].map((range) =>
  ipaddr.parseCIDR(range),
);
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
// Azure's host, with its metadata, has an address that looks like anyone's.
const METADATA = new Set(["168.63.129.16"]);

/** Whether an address is out on the internet: not of this machine, its networks, its cloud's metadata or another protocol. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  if (METADATA.has(parsed.toString()) || isOwn(parsed.toString())) return false;
  if (DOCUMENTATION.some((range) => parsed.kind() === range[0].kind() && parsed.match(range))) return true;
  // What IPv6 has not yet given to anyone counts as unicast there, and embeds IPv4 addresses in old ways.
  return parsed.range() === "unicast" && (parsed.kind() === "ipv4" || parsed.match(GLOBAL_IPV6));
}

// Its services must not be reached by way of its public addresses either.
function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((entries) =>
    entries?.some((entry) => ipaddr.isValid(entry.address) && ipaddr.parse(entry.address).toString() === address),
  );
}
