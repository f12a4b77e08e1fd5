import { connect } from "node:net";
import type { EgressProxy } from "@budgie/egress";
import type { LabNetwork } from "../../src/lab/lab-network.ts";
import { createCarelessProxy } from "./careless-proxy.ts";

/** Creates a proxy that enforces its list and checks a name's address, but then connects by name, which resolves it again. */
export function createForgetfulProxy({ lookup, policy }: LabNetwork): EgressProxy {
  return createCarelessProxy(async (asked) => {
    const known = policy.hosts.find(({ host, port }) => `${host}:${port}` === asked);
    if (known === undefined) return undefined;
    const { address, host, port } = known;
    if (address !== undefined) return connect({ host: address, port });
    const checked = await lookup(host);
    if (!checked.every((candidate) => candidate.address.startsWith("203.0.113."))) return undefined;
    return connect({
      host,
      port,
      lookup: (name, _options, found) => void lookup(name).then((resolved) => found(null, [...resolved])),
      autoSelectFamily: true,
    });
  });
}
