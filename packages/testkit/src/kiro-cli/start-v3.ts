import { upgradeAgents } from "./agent/upgrade-agents.ts";
import { runRuntime } from "./profile/run-runtime.ts";
import type { Settings } from "./profile/settings.ts";

/** Does what every start of V3 does, whatever it is to do then. */
export function startV3(settings: Settings): void {
  runRuntime(settings);
  upgradeAgents(settings);
}
