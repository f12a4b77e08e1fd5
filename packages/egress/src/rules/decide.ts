import { coversName, findEntry, KNOWN_TELEMETRY, type EgressPolicy } from "@budgie/core/egress";
import { isTelemetry } from "./telemetry.ts";

/** A policy's decision on a host and a port. */
export type Decision =
  | {
      readonly allowed: true;
      /** Dialled instead of the name's own addresses */
      readonly address: string | undefined;
    }
  | { readonly allowed: false; readonly why: string };

/** Decides if a policy allows a host and a port, by the most specific entry that matches the host. */
export function decide({ hosts, mode }: EgressPolicy, host: string, port: number): Decision {
  if (mode === "none" || mode === "bridge") return { allowed: false, why: "no network is allowed" };
  const entry = findEntry(hosts, { host, port });
  if (entry) return { allowed: true, address: entry.address };
  if (mode === "open") return { allowed: true, address: undefined };
  if (isTelemetry(hosts, host)) return { allowed: false, why: KNOWN_TELEMETRY };
  const isNamed = hosts.some((candidate) => coversName(candidate.host, host));
  return { allowed: false, why: isNamed ? "port not on the allow-list" : "not on the allow-list" };
}
