import { describeProgram } from "./describe-program.ts";
import { PROGRAMS } from "./programs.ts";

describeProgram("Qwen Code", PROGRAMS["Qwen Code"], { onMachine: true });
