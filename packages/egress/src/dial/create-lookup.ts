import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Lookup, ResolvedAddress } from "./resolver.ts";

type LookupSources = {
  readonly hostsFile: string;
  /** Addresses of name servers, with a port unless it is 53; `undefined` for the system's */
  readonly servers: readonly string[] | undefined;
};

const SYSTEM: LookupSources = { hostsFile: "/etc/hosts", servers: undefined };

const SERVER_MS = 3_000;
const ATTEMPTS = 2;
// For all servers together, and less than callers wait.
const TOTAL_MS = 12_000;

/**
 * Creates a lookup that reads the hosts file and then asks the name servers. Unlike `dns.lookup` it occupies no thread of the
 * pool while it waits: an agent may ask for many names that never answer, and file access needs those threads.
 */
export function createLookup({ hostsFile, servers }: LookupSources = SYSTEM): Lookup {
  return async (host) => {
    const listed = findInHosts(await readFile(hostsFile, "utf8").catch(() => ""), host);
    if (listed.length > 0) return listed;
    // A new resolver for each name, since the system's name servers change with its network.
    const resolver = new Resolver({ timeout: SERVER_MS, tries: ATTEMPTS });
    if (servers) resolver.setServers(servers);
    const timer = setTimeout(() => resolver.cancel(), TOTAL_MS);
    return resolveBoth(resolver, host).finally(() => clearTimeout(timer));
  };
}

function findInHosts(text: string, host: string): readonly ResolvedAddress[] {
  // Block lists have 100,000 lines and more, and an agent asks for names as often as it likes: filter before splitting lines.
  const lines = text.toLowerCase().split("\n");
  return lines
    .filter((line) => line.includes(host))
    .flatMap((line) => {
      const [words = ""] = line.split("#", 1);
      const [address = "", ...names] = words.trim().split(/\s+/);
      return isIP(address) !== 0 && names.includes(host) ? [{ address, family: isIP(address) }] : [];
    });
}

async function resolveBoth(resolver: Resolver, host: string): Promise<readonly ResolvedAddress[]> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length === 0) throw new Error(`No name server knows an address of ${host}.`);
  return addresses.map((address) => ({ address, family: isIP(address) }));
}
