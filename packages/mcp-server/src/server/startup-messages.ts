import type { Runner } from "@budgie/core";
import { isTooDeep, type Nesting } from "@budgie/core/policy";
import type { ServerConfig } from "../config/server-config.ts";
import type { Policies } from "../config/refuse-unknown-agents.ts";

type Served = {
  readonly config: Pick<ServerConfig, "policies" | "sandbox">;
  readonly runner: Pick<Runner, "isolation" | "notices">;
  readonly nesting: Nesting;
  readonly toolCount: number;
  /** The problem with SQLite that makes calls fail; `undefined` if there is none */
  readonly sqliteProblem: string | undefined;
};

/** Returns the lines that budgie prints at its start: what it serves, and warnings. */
export function startupMessages({ config, nesting, runner, sqliteProblem, toolCount }: Served): readonly string[] {
  const { isolation, notices } = runner;
  const count = isTooDeep(nesting) ? 0 : toolCount;
  const hint = isolation === "none" ? " Agents can read and write whatever you can; --sandbox prevents that." : "";
  return [
    `Serving ${count} ${count === 1 ? "tool" : "tools"}, isolation: ${isolation}.${hint}`,
    ...notices,
    ...(sqliteProblem === undefined ? [] : [sqliteProblem]),
    ...(isTooDeep(nesting) ? [TOO_DEEP] : []),
    ...(config.sandbox && hasBridge(config.policies) ? [BRIDGE] : []),
  ];
}

const TOO_DEEP =
  "An agent started this budgie, and --max-depth of the outermost allows no more agents below: it offers no tools.";
const BRIDGE =
  "--egress bridge is unsafe: agents reach all that a container of this machine reaches, and nobody sees what. Use it " +
  "only for programs that ignore proxies.";

/** Returns whether any policy is `bridge`: an agent's section may be tighter than the ceiling. */
function hasBridge({ agents, ceiling }: Policies): boolean {
  return [ceiling, ...agents.values()].some(({ egress }) => egress.mode === "bridge");
}
