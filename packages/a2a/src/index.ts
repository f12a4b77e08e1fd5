// The public surface of @budgie/a2a: every export is named here, and becomes API.
export { createA2aProtocol, type A2aOptions } from "./a2a-protocol.ts";
export type { A2aServer } from "./wire/a2a-server.ts";
export { listKagentAgents, type Kagent, type KagentAgent } from "./kagent.ts";
