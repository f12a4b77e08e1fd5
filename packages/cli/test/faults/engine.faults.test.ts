import { FAULTS } from "./faults.ts";
import { describeFaults, needsSecondEngine } from "./helpers/describe-faults.ts";

describeFaults(FAULTS.filter(needsSecondEngine));
