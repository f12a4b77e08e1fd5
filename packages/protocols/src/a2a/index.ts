// The public surface of @budgie/protocols/a2a: every export is named here, and becomes API.
export { createA2aProtocol, type A2aOptions } from "./a2a-protocol.ts";
export type { A2aServer } from "./wire/a2a-server.ts";
export type { Kagent, KagentAgent } from "./kagent-agent.ts";
export { listKagentAgents } from "./list-kagent-agents.ts";
