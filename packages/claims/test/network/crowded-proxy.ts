import { connect } from "node:net";
import pLimit from "p-limit";
import type { EgressProxy } from "@budgie/egress";
import type { LabNetwork } from "../../src/lab/lab-network.ts";
import { createCarelessProxy } from "./careless-proxy.ts";

/** Creates a proxy with two concurrent lookups and a limited number of connections for all sessions together. */
export function createCrowdedProxy({ lookup, webPort }: LabNetwork): EgressProxy {
  const limit = pLimit(2);
  return createCarelessProxy(async (host) => {
    await limit(() => lookup(host.slice(0, host.lastIndexOf(":"))));
    return connect({ host: "127.0.0.1", port: webPort });
  });
}
