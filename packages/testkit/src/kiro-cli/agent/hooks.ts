import type { KiroAgent } from "./kiro-agent.ts";
import { runHook } from "../profile/shell.ts";

/** The kinds of hook that the stand-in runs. */
type Trigger = "agentSpawn" | "userPromptSubmit";

/** Runs an agent's hooks of one kind in sequence, as shell commands. */
export async function runHooks({ hooks }: KiroAgent, trigger: Trigger): Promise<void> {
  for (const command of hooks.get(trigger.toLowerCase()) ?? []) await runHook(command);
}
