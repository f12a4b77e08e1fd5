import { coversName, type AllowedHost, type EgressPolicy } from "@budgie/core/egress";

/** What a policy says of a host and a port. */
export type Verdict =
  | {
      readonly allowed: true;
      /** To be dialled in place of what the name resolves to */
      readonly address: string | undefined;
    }
  | { readonly allowed: false; readonly why: string };

/** What a policy says of a host and a port; the entry that names the host most exactly decides. */
export function toVerdict({ hosts, mode }: EgressPolicy, host: string, port: number): Verdict {
  if (mode === "none" || mode === "bridge") return { allowed: false, why: "no network is allowed" };
  const covering = hosts.filter((entry) => coversName(entry.host, host)).toSorted(byExactness);
  const entry = covering.find((candidate) => candidate.port === port);
  if (entry) return { allowed: true, address: entry.address };
  if (mode === "open") return { allowed: true, address: undefined };
  return { allowed: false, why: covering.length > 0 ? "port not on the allow-list" : "not on the allow-list" };
}

function byExactness(a: AllowedHost, b: AllowedHost): number {
  const wildcards = Number(a.host.startsWith("*.")) - Number(b.host.startsWith("*."));
  return wildcards === 0 ? b.host.length - a.host.length : wildcards;
}
