import type { KiroAgent } from "./kiro-agent.ts";
import { runHook } from "../profile/run-shell.ts";

const BLOCKED = 2;

/** Runs an agent's guards of tools in sequence. Resolves to false if one blocks the tool, by its exit code. */
export async function passesGuards({ hooks }: KiroAgent): Promise<boolean> {
  for (const command of hooks.get("pretooluse") ?? []) {
    if ((await runHook(command)) === BLOCKED) return false;
  }
  return true;
}

/** The other kinds of hook that the stand-in runs. */
type Trigger = "agentSpawn" | "userPromptSubmit";

/** Runs an agent's hooks of one kind in sequence, as shell commands. */
export async function runHooks({ hooks }: KiroAgent, trigger: Trigger): Promise<void> {
  for (const command of hooks.get(trigger.toLowerCase()) ?? []) await runHook(command);
}
