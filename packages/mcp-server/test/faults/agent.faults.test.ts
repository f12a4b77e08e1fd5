import { AGENT_FAULTS } from "./agent-faults.ts";
import { describeFaults, needsSecondEngine } from "./helpers/describe-faults.ts";
import { MCP_FAULTS } from "./mcp-faults.ts";

describeFaults([...AGENT_FAULTS, ...MCP_FAULTS].filter((fault) => !needsSecondEngine(fault)));
