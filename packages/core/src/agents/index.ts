// The public surface of @budgie/core/agents: every export is named here, and becomes API.
export {
  readAgentDefinition,
  readAgentFile,
  listServerEntries,
  splitWords,
  type AgentDefinition,
  type ParsedAgentFile,
} from "./agent-definition.ts";
export { isGuardHook, listHideableHooks, listHooks, toTriggerKey, type AgentHook } from "./agent-hook.ts";
export { beginsFrontmatter } from "./prompt-frontmatter.ts";
export { allowsFileTools, forbids, hasRuleForAll, findEffect, type Capability } from "./capability.ts";
export { AGENT_NAME, isKiros, PLAIN_NAME, type AgentProgram, type RemoteAgent } from "./agent.ts";
export { listKiroTools } from "./list-kiro-tools.ts";
export { loadAgent, type LoadedAgent } from "./load-agent.ts";
export type { AgentFolders, LoadedAgents } from "./load-agents.ts";
export type { NamedFile } from "./list-named-files.ts";
export { reloadFile } from "./reload-file.ts";
