import { networkInterfaces, type NetworkInterfaceInfo } from "node:os";
import ipaddr from "ipaddr.js";

// Ranges that are in no one's network, and that tests may therefore give to servers of their own.
const DOCUMENTATION = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"].map((range) =>
  ipaddr.parseCIDR(range),
);
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");
// Azure's host, with its metadata, has an address that looks like anyone's.
const METADATA = new Set(["168.63.129.16"]);

type Interfaces = Readonly<Record<string, readonly Pick<NetworkInterfaceInfo, "address" | "cidr">[] | undefined>>;

/** Whether an address is out on the internet: not of this machine, its networks, its cloud's metadata or another protocol. */
export function isPublicAddress(address: string, interfaces: Interfaces = networkInterfaces()): boolean {
  if (!ipaddr.isValid(address) || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  if (METADATA.has(parsed.toString()) || isNear(parsed, interfaces)) return false;
  if (DOCUMENTATION.some((range) => isIn(parsed, range))) return true;
  // What IPv6 has not yet given to anyone counts as unicast there, and embeds IPv4 addresses in old ways.
  return parsed.range() === "unicast" && (parsed.kind() === "ipv4" || isIn(parsed, GLOBAL_IPV6));
}

type Address = ReturnType<typeof ipaddr.parse>;

// Neither this machine's services nor its neighbours' may be reached by public addresses.
function isNear(address: Address, interfaces: Interfaces): boolean {
  const own = Object.values(interfaces).flatMap((entries) => entries ?? []);
  return own.some((entry) => {
    const range = entry.cidr ?? `${entry.address}/${address.kind() === "ipv4" ? 32 : 128}`;
    return ipaddr.isValidCIDR(range) && isIn(address, ipaddr.parseCIDR(range));
  });
}

function isIn(address: Address, range: ReturnType<typeof ipaddr.parseCIDR>): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}
