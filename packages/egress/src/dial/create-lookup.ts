import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Lookup, ResolvedAddress } from "./resolver.ts";

type LookupPlaces = {
  readonly hostsFile: string;
  /** Addresses of name servers, with a port if it is not 53; `undefined` for the system's */
  readonly servers: readonly string[] | undefined;
};

const OF_SYSTEM: LookupPlaces = { hostsFile: "/etc/hosts", servers: undefined };

const SERVER_MS = 3_000;
const TRIES = 2;
// For all servers together; callers wait longer.
const MOST_MS = 12_000;

/**
 * Creates a lookup in the hosts file, and then at the name servers. Unlike `dns.lookup`, it blocks no thread while it waits: an
 * agent may ask for names that never answer, and file access needs the threads.
 */
export function createLookup({ hostsFile, servers }: LookupPlaces = OF_SYSTEM): Lookup {
  return async (host) => {
    const written = findInHosts(await readFile(hostsFile, "utf8").catch(() => ""), host);
    if (written.length > 0) return written;
    // Made for each name, since a machine's name servers change with its network.
    const resolver = new Resolver({ timeout: SERVER_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    const timer = setTimeout(() => resolver.cancel(), MOST_MS);
    return askBoth(resolver, host).finally(() => clearTimeout(timer));
  };
}

function findInHosts(text: string, host: string): readonly ResolvedAddress[] {
  // Lists of what is to be blocked have 100,000 lines and more, and an agent asks for names as often as it likes.
  const lines = text.toLowerCase().split("\n");
  return lines
    .filter((line) => line.includes(host))
    .flatMap((line) => {
      const [words = ""] = line.split("#", 1);
      const [address = "", ...names] = words.trim().split(/\s+/);
      return isIP(address) !== 0 && names.includes(host) ? [{ address, family: isIP(address) }] : [];
    });
}

async function askBoth(resolver: Resolver, host: string): Promise<readonly ResolvedAddress[]> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length === 0) throw new Error(`No name server knows an address of ${host}.`);
  return addresses.map((address) => ({ address, family: isIP(address) }));
}
