import { AGENT_FAULTS } from "./agent-faults.ts";
import { BUDGIE_FAULTS } from "./budgie-faults.ts";
import { DATABASE_FAULTS } from "./database-faults.ts";
import { ENGINE_FAULTS } from "./engine-faults.ts";
import type { Fault } from "./fault.ts";
import { MACHINE_FAULTS } from "./machine-faults.ts";
import { MCP_FAULTS } from "./mcp-faults.ts";
import { NETWORK_FAULTS } from "./network-faults.ts";

/** All faults, in the order of the list in docs/reliability.md. */
export const FAULTS: readonly Fault[] = [
  ...BUDGIE_FAULTS,
  ...AGENT_FAULTS,
  ...MCP_FAULTS,
  ...DATABASE_FAULTS,
  ...NETWORK_FAULTS,
  ...ENGINE_FAULTS,
  ...MACHINE_FAULTS,
];
