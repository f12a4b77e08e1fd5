import type { RequestListener } from "node:http";
import type { EgressPolicy } from "@budgie/core/egress";
import type { EgressLimits } from "../dial/egress-limits.ts";
import type { EgressLog } from "./egress-log.ts";
import type { Refusal } from "./refusal.ts";
import type { Route, RouteFinder } from "../dial/route.ts";
import type { Target } from "./target.ts";
import type { CertificateWatch } from "./certificate-watch.ts";
import { decide } from "../rules/decide.ts";

/** The parts of a session's proxy that its requests share. */
export type ProxyContext = {
  readonly policy: () => EgressPolicy;
  readonly log: EgressLog;
  readonly limits: EgressLimits;
  readonly findRoute: RouteFinder;
  readonly connections: Set<Connection>;
  readonly watchCertificate: CertificateWatch;
  /** The proxy itself; `undefined` if requests to it are refused */
  readonly own: () => Own | undefined;
};

/** The requests to a proxy itself. */
export type Own = {
  readonly answer: RequestListener;
  /** The address by which its clients know it, such as `127.0.0.1:3128` */
  readonly address: string;
};

/** An allowed connection, from its admission to its end. */
export type Connection = {
  readonly target: Target;
  readonly mode: EgressPolicy["mode"];
  /** Address that the policy pins its host to */
  readonly address: string | undefined;
  readonly close: () => void;
};

/** Decides on a request, finds its route, and logs a refusal. A later policy that forbids the connection closes it. */
export async function admit(
  context: ProxyContext,
  target: Target,
  client: { readonly destroy: () => unknown; readonly once: (event: "close", listener: () => void) => unknown },
): Promise<{ readonly connection: Connection; readonly route: Route } | Refusal> {
  const { host, port } = target;
  const policy = context.policy();
  const decision = decide(policy, host, port);
  if (!decision.allowed) return refuse(context, target, decision.why);
  const { address } = decision;
  const connection: Connection = { target, mode: policy.mode, address, close: () => client.destroy() };
  context.connections.add(connection);
  client.once("close", () => context.connections.delete(connection));
  const route = await context.findRoute({ host, port, address });
  if (route === "private") return refuse(context, target, PRIVATE);
  if (route === "unknown") {
    context.log.allow(host, port);
    context.log.fail(target, new Error(UNRESOLVED));
    return { status: 502, target: `${host}:${port}`, why: UNRESOLVED };
  }
  return { connection, route };
}

/** Returns true if a new policy allows a connection that an earlier one allowed. */
export function isStillAllowed({ address, mode, target }: Connection, policy: EgressPolicy): boolean {
  const decision = decide(policy, target.host, target.port);
  // Connections of an open policy were not inspected.
  const wasChecked = mode === "allowlist" || policy.mode === "open";
  return decision.allowed && decision.address === address && wasChecked;
}

/** Logs a refusal, and returns it with its remedy. */
export function refuse({ log }: ProxyContext, { host, port }: Target, why: string): Refusal {
  log.deny(host, port, why);
  const target = port === 0 ? host : `${host}:${port}`;
  return { status: 403, target, why, ...findRemedy({ host, port }, why) };
}

const UNRESOLVED = "its name could not be resolved";
const PRIVATE = "its name resolves to no public address";

function findRemedy({ host, port }: Target, why: string): { readonly remedy?: string } {
  if (port === 0) return {};
  const name = port === 443 ? host : `${host}:${port}`;
  if (why.includes("allow-list")) return { remedy: `If it is needed, the user can allow "${name}"` };
  if (why === PRIVATE) return { remedy: `If it must be reached, the user can pin it as "${name}=ADDRESS"` };
  return {};
}
