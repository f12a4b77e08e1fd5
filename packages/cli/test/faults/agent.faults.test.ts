import { AGENT_FAULTS } from "./agent-faults.ts";
import { describeFaults, needsSecondEngine } from "./helpers/describe-faults.ts";

describeFaults(AGENT_FAULTS.filter((fault) => !needsSecondEngine(fault)));
