import type { EgressPolicy, EgressReport } from "@budgie/core/egress";
import type { EgressProxyOptions } from "../proxy/egress-proxy.ts";

/** A request to a proxy in a process of its own, one JSON object per line. */
export type ControlRequest =
  | { readonly configure: Numbered & Omit<EgressProxyOptions, "lookup"> }
  | { readonly open: Numbered & { readonly session: string; readonly socketPath: string } }
  | { readonly policy: Numbered & { readonly session: string; readonly policy: EgressPolicy } }
  | { readonly take: Numbered & { readonly session: string } }
  | { readonly close: Numbered & { readonly session: string } };

/** The answer to a request, one JSON object per line, with the id of the request. */
export type ControlAnswer =
  | { readonly configured: Numbered }
  | { readonly opened: Numbered }
  | { readonly applied: Numbered }
  | { readonly taken: Numbered & { readonly report: EgressReport } }
  | { readonly closed: Numbered }
  | { readonly failed: Numbered & { readonly message: string } };

export type Numbered = { readonly id: number };
