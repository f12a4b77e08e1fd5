import { describeProgram } from "./describe-program.ts";
import { PROGRAMS } from "./programs.ts";

describeProgram("Codex", PROGRAMS.Codex, { endings: true, onMachine: true });
