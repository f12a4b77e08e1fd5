import { connect } from "node:net";
import type { EgressProxy } from "@budgie/egress";
import type { LabNetwork } from "../../src/lab/lab-network.ts";
import { createCarelessProxy } from "./careless-proxy.ts";

/**
 * Creates a proxy that connects anybody to anything and inspects nothing. It knows two machines: the allowed host, and one with
 * all other names and addresses.
 */
export function createUnwatchedProxy({ webPort }: LabNetwork): EgressProxy {
  return createCarelessProxy((host) => {
    return connect({ host: host === `allowed.test:${webPort}` ? "127.0.0.1" : "127.0.0.2", port: webPort });
  });
}
