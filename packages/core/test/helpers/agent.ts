import type { Agent } from "@budgie/core";

/** An agent as `loadAgents` returns one. */
export const AGENT: Agent = {
  name: "tester",
  description: "Tests things",
  whenToUse: "",
  file: "/agents/tester.json",
  promptFile: undefined,
  writesFiles: true,
  model: undefined,
  hasModel: false,
};
