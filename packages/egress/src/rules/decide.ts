import { coversName, findEntry, type EgressPolicy } from "@budgie/core/egress";

/** What a policy says of a host and a port. */
export type Decision =
  | {
      readonly allowed: true;
      /** To be dialled in place of what the name resolves to */
      readonly address: string | undefined;
    }
  | { readonly allowed: false; readonly why: string };

/** What a policy says of a host and a port; the entry that names the host most exactly decides. */
export function decide({ hosts, mode }: EgressPolicy, host: string, port: number): Decision {
  if (mode === "none" || mode === "bridge") return { allowed: false, why: "no network is allowed" };
  const entry = findEntry(hosts, { host, port });
  if (entry) return { allowed: true, address: entry.address };
  if (mode === "open") return { allowed: true, address: undefined };
  const isNamed = hosts.some((candidate) => coversName(candidate.host, host));
  return { allowed: false, why: isNamed ? "port not on the allow-list" : "not on the allow-list" };
}
