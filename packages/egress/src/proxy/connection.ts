import type { EgressPolicy } from "@budgie/core/egress";
import type { EgressLimits } from "../dial/limits.ts";
import type { EgressLog } from "./egress-log.ts";
import type { Refusal } from "./refusal.ts";
import type { Route, RouteFinder } from "../dial/route.ts";
import type { Target } from "./target.ts";
import { toVerdict } from "../rules/decide.ts";

/** What all requests at one door share. */
export type Doorway = {
  readonly policy: () => EgressPolicy;
  readonly log: EgressLog;
  readonly limits: EgressLimits;
  readonly findRoute: RouteFinder;
  readonly passages: Set<Passage>;
};

/** Something that was let through, for as long as it lasts. */
export type Passage = {
  readonly target: Target;
  readonly mode: EgressPolicy["mode"];
  /** What its host is pinned to */
  readonly address: string | undefined;
  readonly cut: () => void;
};

/** Asks the policy, and finds the way; what is refused is logged. Cut if the policy changes its mind meanwhile or later. */
export async function admit(
  doorway: Doorway,
  target: Target,
  client: { readonly destroy: () => unknown; readonly once: (event: "close", listener: () => void) => unknown },
): Promise<{ readonly passage: Passage; readonly route: Route } | Refusal> {
  const { host, port } = target;
  const policy = doorway.policy();
  const verdict = toVerdict(policy, host, port);
  if (!verdict.allowed) return refuse(doorway, target, verdict.why);
  const { address } = verdict;
  const passage: Passage = { target, mode: policy.mode, address, cut: () => client.destroy() };
  doorway.passages.add(passage);
  client.once("close", () => doorway.passages.delete(passage));
  const route = await doorway.findRoute({ host, port, address });
  if (route === "private") return refuse(doorway, target, PRIVATE);
  if (route === "unknown") return { status: 502, target: `${host}:${port}`, why: "its name could not be resolved" };
  return { passage, route };
}

/** Whether a policy would let through what another one has. */
export function isStillAllowed({ address, mode, target }: Passage, policy: EgressPolicy): boolean {
  const verdict = toVerdict(policy, target.host, target.port);
  // Nobody has looked into what an open policy let through.
  const wasChecked = mode === "allowlist" || policy.mode === "open";
  return verdict.allowed && verdict.address === address && wasChecked;
}

/** Logs a refusal, and words it. */
export function refuse({ log }: Doorway, { host, port }: Target, why: string): Refusal {
  log.deny(host, port, why);
  const target = port === 0 ? host : `${host}:${port}`;
  return { status: 403, target, why, ...toRemedy({ host, port }, why) };
}

const PRIVATE = "its name resolves to no public address";

function toRemedy({ host, port }: Target, why: string): { readonly remedy?: string } {
  if (port === 0) return {};
  const name = port === 443 ? host : `${host}:${port}`;
  if (why.includes("allow-list")) return { remedy: `To allow it, the user can start budgie with --allow-host ${name}` };
  if (why === PRIVATE) return { remedy: `If it must be reached, the user can pin it: --allow-host ${name}=ADDRESS` };
  return {};
}
