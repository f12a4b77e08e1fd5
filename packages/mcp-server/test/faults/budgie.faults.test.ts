import { BUDGIE_FAULTS } from "./budgie-faults.ts";
import { describeFaults, needsSecondEngine } from "./helpers/describe-faults.ts";

describeFaults(BUDGIE_FAULTS.filter((fault) => !needsSecondEngine(fault)));
