import { describeProgram } from "./describe-program.ts";
import { PROGRAMS } from "./programs.ts";

describeProgram("opencode", PROGRAMS.opencode);
