import type { Command, StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS, isReadOnly } from "@budgie/core/policy";
import type { TerminalSize } from "@budgie/core/protocol";
import { findWorkspacePath } from "@budgie/sandbox/profile";
import { toPodVariables } from "../egress/index.ts";
import { POD, PROXY_PORT, type ProcessOrder } from "../requests/index.ts";
import type { ClusterContext } from "./cluster-context.ts";

/** A start, and whether its network has the proxy. */
export type OrderOf = {
  readonly command: Pick<Command, "argv" | "env">;
  readonly options: Pick<StartOptions, "access" | "directory" | "terminal" | "workspacePath">;
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
    argv: asked.terminal === undefined ? command.argv : onTerminal(command.argv, asked.terminal),
    ...toPodVariables({ env: command.env, hasProxy, hasTrust: trust !== undefined }),
    directory: findWorkspacePath(asked),
    ports: [PROXY_PORT, ...(options.ports ?? [])],
    isReadOnly: isReadOnly(access.workspace),
    limits: { pids, diskBytes },
  };
}

/** Returns the command that runs another one on a terminal. It is a process of the agent, and as well in the jail. */
function onTerminal(argv: ProcessOrder["argv"], { columns, rows }: TerminalSize): ProcessOrder["argv"] {
  return [`${POD.programs}/hold`, "terminal", String(columns), String(rows), ...argv];
}
