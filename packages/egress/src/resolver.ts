import { lookup } from "node:dns/promises";
import pLimit from "p-limit";

/** Turns a name into addresses; rejects if there are none. */
export type Lookup = (host: string) => Promise<readonly ResolvedAddress[]>;

export type ResolvedAddress = { readonly address: string; readonly family: number };

// The system's lookups block threads that files need as well, and an agent may ask for names that never answer.
const MAX_LOOKUPS = 2;

/** A lookup that asks for few names at once, and for the same name once only at a time; it remembers nothing. */
export function createResolver(lookupHost: Lookup = lookupOnSystem): Lookup {
  const limit = pLimit(MAX_LOOKUPS);
  const pending = new Map<string, ReturnType<Lookup>>();
  return (host) => {
    const asked = pending.get(host) ?? limit(() => lookupHost(host)).finally(() => pending.delete(host));
    pending.set(host, asked);
    return asked;
  };
}

const lookupOnSystem: Lookup = (host) => lookup(host, { all: true });
