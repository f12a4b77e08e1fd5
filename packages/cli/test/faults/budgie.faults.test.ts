import { BUDGIE_FAULTS } from "./budgie-faults.ts";
import { describeFaults, needsSecondEngine } from "./helpers/describe-faults.ts";
import { MCP_FAULTS } from "./mcp-faults.ts";

describeFaults([...BUDGIE_FAULTS, ...MCP_FAULTS].filter((fault) => !needsSecondEngine(fault)));
