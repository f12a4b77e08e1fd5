import type { AgentDefinition } from "@budgie/core/agents";
import { toV2Hooks } from "./v2-hooks.ts";

/** Returns the reason why V2 must not run an agent: a guard that it would not run; `undefined` if there is none. */
export function findV2Obstacle({ hooks }: AgentDefinition): string | undefined {
  if (hooks === undefined || hooks === null) return undefined;
  try {
    toV2Hooks(hooks);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
