import type { CustomAgent } from "../../../src/kiro/v3/custom-agent.ts";
import { POLITE, type Script } from "./scripted-agent.ts";
import type { RunOptions } from "./run.ts";

/** The agent that budgie sends. */
export const CUSTOM: CustomAgent = {
  id: "budgie-1234",
  description: "Codes.",
  prompt: "You code.",
  tools: ["read"],
  permissions: { rules: [] },
};

/** The options of a turn on V3 whose agent may not use tools unasked. */
export const ON_V3: RunOptions = { kiro: { harness: "v3", agent: CUSTOM }, mode: CUSTOM.id, permission: "deny" };

export const toMode = (origin: string, id = CUSTOM.id) => ({
  id,
  name: id,
  _meta: { kiro: { resource: { source: { origin } } } },
});

/** The modes of a V3 that took the agent from its client. */
export const MODES = { currentModeId: CUSTOM.id, availableModes: [toMode("bundled", "vibe"), toMode("client")] };

export const toAutopilot = (currentValue: string) => ({
  id: "autopilot",
  name: "Autopilot",
  type: "select",
  currentValue,
  options: [{ value: "on" }, { value: "off" }],
});

/** The answer to `initialize` by which V3 is known. */
export const V3_CAPABILITIES = {
  loadSession: true,
  mcpCapabilities: { http: true },
  _meta: { kiro: { extensionMethods: ["_kiro/session/context"] } },
};

/** A V3 that takes the agent, and knows the conversation `c1`. */
export const V3_SCRIPT: Script = {
  ...POLITE,
  initialize: () => ({ protocolVersion: 1, agentCapabilities: V3_CAPABILITIES }),
  "session/new": () => ({ sessionId: "c1", modes: MODES, configOptions: [toAutopilot("on")] }),
  "session/load": () => ({ modes: MODES, configOptions: [toAutopilot("on")] }),
  "session/list": () => ({ sessions: [{ sessionId: "c1", cwd: "/workspace" }] }),
  "session/set_config_option": ({ configId, value }: { configId: string; value: string }) => ({
    configOptions: configId === "autopilot" ? [toAutopilot(value)] : [],
  }),
};
