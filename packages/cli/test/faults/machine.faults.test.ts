import { DATABASE_FAULTS } from "./database-faults.ts";
import { ENGINE_FAULTS } from "./engine-faults.ts";
import { describeFaults, needsSecondEngine } from "./helpers/describe-faults.ts";
import { MACHINE_FAULTS } from "./machine-faults.ts";
import { NETWORK_FAULTS } from "./network-faults.ts";

const faults = [...DATABASE_FAULTS, ...NETWORK_FAULTS, ...ENGINE_FAULTS, ...MACHINE_FAULTS];
describeFaults(faults.filter((fault) => !needsSecondEngine(fault)));
