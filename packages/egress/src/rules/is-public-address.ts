import { networkInterfaces, type NetworkInterfaceInfo } from "node:os";
import ipaddr from "ipaddr.js";

// Ranges that no network uses, so that tests may use them for their own servers.
const DOCUMENTATION = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"].map((range) =>
  ipaddr.parseCIDR(range),
);
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");
// Azure serves its metadata at an address in the public range.
const METADATA = new Set(["168.63.129.16"]);

type Interfaces = Readonly<Record<string, readonly Pick<NetworkInterfaceInfo, "address" | "cidr">[] | undefined>>;

/** Returns true if an address is on the public internet: not this machine, its networks, a metadata service or embedded IPv4. */
export function isPublicAddress(address: string, interfaces: Interfaces = networkInterfaces()): boolean {
  if (!ipaddr.isValid(address) || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  if (METADATA.has(parsed.toString()) || isLocal(parsed, interfaces)) return false;
  if (DOCUMENTATION.some((range) => isIn(parsed, range))) return true;
  // ipaddr.js counts unassigned IPv6 ranges as unicast; some of them embed IPv4 addresses in obsolete ways.
  return parsed.range() === "unicast" && (parsed.kind() === "ipv4" || isIn(parsed, GLOBAL_IPV6));
}

type Address = ReturnType<typeof ipaddr.parse>;

// This machine and its neighbours may have public addresses; their services must not be reached either.
function isLocal(address: Address, interfaces: Interfaces): boolean {
  const own = Object.values(interfaces).flatMap((entries) => entries ?? []);
  return own.some((entry) => {
    const range = entry.cidr ?? `${entry.address}/${address.kind() === "ipv4" ? 32 : 128}`;
    return ipaddr.isValidCIDR(range) && isIn(address, ipaddr.parseCIDR(range));
  });
}

function isIn(address: Address, range: ReturnType<typeof ipaddr.parseCIDR>): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}
