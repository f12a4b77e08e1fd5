import type { Command, StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS, isReadOnly } from "@budgie/core/policy";
import { findWorkspacePath } from "@budgie/sandbox/profile";
import { toPodVariables } from "../egress/index.ts";
import { PROXY_PORT, type ProcessOrder } from "../requests/index.ts";
import type { ClusterContext } from "./cluster-context.ts";

/** A start, and whether its network has the proxy. */
export type OrderOf = {
  readonly command: Pick<Command, "argv" | "env">;
  readonly options: Pick<StartOptions, "access" | "directory" | "workspacePath">;
  readonly hasProxy: boolean;
};

/** Returns the order of a process. */
export function toOrder(
  { limits, options, trust }: Pick<ClusterContext, "limits" | "options" | "trust">,
  { command, hasProxy, options: asked }: OrderOf,
): ProcessOrder {
  const { access = DEFAULT_ACCESS } = asked;
  const { diskBytes, pids } = { ...limits, ...access.limits };
  return {
    argv: command.argv,
    ...toPodVariables({ env: command.env, hasProxy, hasTrust: trust !== undefined }),
    directory: findWorkspacePath(asked),
    ports: [PROXY_PORT, ...(options.ports ?? [])],
    isReadOnly: isReadOnly(access.workspace),
    limits: { pids, diskBytes },
  };
}
