import type { AgentDefinition } from "@budgie/core/agents";

/** Returns the reason why V3 must not run an agent: a part that restricts it, and that V3 would not keep; `undefined` if there is none. */
export function findV3Obstacle(definition: AgentDefinition): string | undefined {
  const { disallowedTools, excludedTools, hooks, permissions, toolsSettings } = definition;
  if (holdsGuard(hooks)) {
    return "its hooks guard its tools (preToolUse), and nobody has seen such a hook block a tool there when it is run by another program";
  }
  if (isFilled(excludedTools)) return 'its "excludedTools" cannot be sent there';
  if (isFilled(disallowedTools)) return 'its "disallowedTools" cannot be sent there';
  // Kiro's own upgrade turns them into rules.
  if (isFilled(toolsSettings) && !permissions)
    return 'its "toolsSettings" have no meaning there: give it "permissions" instead';
  return undefined;
}

/** Returns true for hooks that may hold a guard, in any form: an entry that budgie does not understand may be one for Kiro. */
function holdsGuard(hooks: unknown): boolean {
  return /pre[\s_-]?tool[\s_-]?use/i.test(JSON.stringify(hooks) ?? "");
}

function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && Object.keys(Object(value)).length > 0;
}
