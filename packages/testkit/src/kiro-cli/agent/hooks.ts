import type { KiroAgent } from "./kiro-agent.ts";
import { runHook } from "../profile/shell.ts";

/** The kinds of hook that the stand-in runs. */
type Trigger = "agentSpawn" | "userPromptSubmit";

/** Runs an agent's hooks of one kind in sequence, as shell commands, and discards their output. */
export async function runHooks({ hooks }: KiroAgent, trigger: Trigger, prompt: string | undefined): Promise<void> {
  const input = JSON.stringify({
    hook_event_name: trigger,
    cwd: process.cwd(),
    ...(prompt !== undefined && { prompt }),
  });
  const env = { ...process.env, ...(prompt !== undefined && { USER_PROMPT: prompt.slice(0, 4096) }) };
  for (const command of hooks.get(trigger.toLowerCase()) ?? []) await runHook(command, { input, env });
}
